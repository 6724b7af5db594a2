"""Replies of models and files of people: strict, bounded, and every error names its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.graph import (
    EventChain,
    LimitError,
    Limits,
    ParseError,
    Spawn,
    Unlink,
    edit_from_json,
    parse_delta,
    parse_deltas,
    parse_edits,
    parse_file,
    parse_graph,
    parse_json,
)

GRAPH = {"nodes": [{"id": "ice#1", "category": "ice cube", "attributes": {"surface": "dry"}}], "edges": []}
STATE = {"object": "ice#1", "state": "melts", "rule": "heat melts ice"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: not valid JSON"),
        ('{"a": 1,\n "b": }', "line 2, column 7: not valid JSON"),
        ('{"a": 1} extra', "line 1, column 10: not valid JSON"),
        ("{'a': 1}", "line 1, column 2: not valid JSON"),
        ('{"a": {"b": 1, "b": 2}}', r"\$\.a: has the key 'b' twice"),
        ('[1, {"b": [NaN]}]', r"\$\[1\]\.b\[0\]: 'NaN' is not a finite number"),
        ('{"x": -Infinity}', r"\$\.x: '-Infinity' is not a finite number"),
        ('{"x": 1e999}', r"\$\.x: '1e999' is not a finite number"),
        ('{"x": ' + "9" * 5000 + "}", r"\$\.x: .* is not a finite number"),
        ("[" * 100_000, "nested deeper than 16 levels"),
        ("[" * 17 + "]" * 17, "nested deeper than 16 levels"),
        ('{"a":' * 50_000, "nested deeper than 16 levels"),
        (b'{"a": "\xff"}', "line 1: not UTF-8 text"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text"),
        ('"' + "x" * 1_000_000 + '"', "longer than 1000000 bytes"),
        ('"' + "é" * 600_000 + '"', "longer than 1000000 bytes"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_the_place(text: str | bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_json(text)


def test_brackets_in_strings_are_not_depth() -> None:
    assert parse_json(json.dumps(["[" * 40, '\\"{' * 40])) == ["[" * 40, '\\"{' * 40]


def test_plain_json_is_read_as_it_is() -> None:
    value = {"a": [1, -2.5, 1e3, True, None, "é \u2028"], "b": {"c": {}}}
    assert parse_json(json.dumps(value)) == value
    assert parse_json("\ufeff[1]") == [1]
    assert isinstance(parse_json("[1]")[0], int)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": {}}, r"\$\.nodes: must be a list"),
        ({"nodes": [3]}, r"\$\.nodes\[0\]: must be an object"),
        ({"nodes": [{"id": "ice#1"}]}, r"\$\.nodes\[0\]: lacks the field 'category'"),
        ({"nodes": [{"id": 1, "category": "ice"}]}, r"\$\.nodes\[0\]\.id: must be a string, not a number"),
        ({"nodes": [{"id": "ice", "category": "ice"}]}, r"\$\.nodes\[0\]: .*<category>#<n>"),
        ({"nodes": [{"id": "ice#1", "category": "a\x07b"}]}, r"\$\.nodes\[0\]\.category: .*U\+0007"),
        (
            {"nodes": [{"id": "ice#1", "category": "ice", "attributes": {"surface": "w" * 81}}]},
            r"\$\.nodes\[0\]\.attributes\.surface: has 81 characters, the limit is 80",
        ),
        (
            {"nodes": [{"id": "ice#1", "category": "ice", "attributes": {"mood": "sad"}}]},
            r"\$\.nodes\[0\]: ice#1 has no attribute 'mood'",
        ),
        (
            {"nodes": [{"id": "ice#1", "category": "ice", "atributes": {}}]},
            r"\$\.nodes\[0\]: has the unknown field 'atributes': did you mean 'attributes'",
        ),
        ({"edges": [{"a": "ice#1", "r": "near"}]}, r"\$\.edges\[0\]: lacks the field 'b'"),
        ({"edges": [{"a": "ice#1", "r": "on", "b": "cup#2"}]}, r"\$\.edges\[0\]: there is no relation 'on'"),
        ({"edges": [{"a": "ice#1", "r": "near", "b": "cup#2"}]}, r"\$: the edge .* names cup#2"),
        (
            {"nodes": [{"id": f"cup#{i}", "category": "cup"} for i in range(41)]},
            r"41 entries, the limit is 40",
        ),
    ],
)
def test_a_graph_that_is_none_is_refused_with_the_place(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_graph(json.dumps(GRAPH | change))


def test_missing_attributes_and_nulls_are_simply_not_given() -> None:
    graph = parse_graph(
        {"nodes": [{"id": "ice#1", "category": "ice", "attributes": {"color": None}, "source": None}]}
    )
    assert graph.node("ice#1").attributes == {}


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        ({"states": [], "fraction": 0.3}, "at least one object"),
        ({"states": [STATE], "fraction": 0}, "between 0 and 1"),
        ({"states": [STATE], "fraction": 1}, "between 0 and 1"),
        ({"states": [STATE], "fraction": "0.3"}, r"\$\.fraction: must be a number, not the text '0.3'"),
        ({"states": [STATE], "fraction": True}, r"\$\.fraction: must be a number, not true"),
        ({"states": [STATE]}, "lacks the field 'fraction'"),
        ({"states": [STATE | {"rule": ""}], "fraction": 0.3}, r"\$\.states\[0\]\.rule: is empty"),
        (
            {"states": [STATE | {"new_object": {"id": "x#1"}}], "fraction": 0.3},
            r"new_object: lacks the field 'source'",
        ),
        ({"states": [STATE | {"object": "ice"}], "fraction": 0.3}, r"<category>#<n>"),
    ],
)
def test_a_delta_that_is_none_is_refused_with_the_place(delta: dict[str, object], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_delta(json.dumps(delta))


def test_deltas_are_bounded_and_never_empty() -> None:
    delta = {"states": [STATE], "fraction": 0.1}
    assert len(parse_deltas({"deltas": [delta] * 7})) == 7
    assert len(parse_deltas({"deltas": [delta] * 8}, Limits(max_events=8))) == 8
    with pytest.raises(LimitError, match="8 entries, the limit is 7"):
        parse_deltas({"deltas": [delta] * 8})
    with pytest.raises(ParseError, match="name at least one event"):
        parse_deltas({"deltas": []})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            {"op": "Udpate", "o": "ice#1"},
            r"\$\.edits\[0\]: has the unknown operator 'Udpate': did you mean 'Update'",
        ),
        ({"o": "ice#1"}, "lacks the field 'op'"),
        ({"op": "Update", "o": "ice#1", "key": "surface"}, "lacks the field 'value'"),
        ({"op": "Consume", "o": ["ice#1"]}, r"\$\.edits\[0\]\.o: must be a string, not a list"),
        ({"op": "Consume", "o": "ice#1", "key": "x"}, "has the unknown field 'key'"),
        (
            {"op": "Spawn", "id": "a#1", "source": "b#2", "attributes": {"color": 3}},
            r"attributes\.color: must be a str",
        ),
        ({"op": {"x": 1}}, "unknown operator"),
    ],
)
def test_an_edit_that_is_none_is_refused_with_the_place(edit: dict[str, object], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_edits(json.dumps({"edits": [edit]}))


def test_edits_outside_the_vocabulary_are_read_for_the_checks_to_name() -> None:
    edits = parse_edits(
        {"edits": [{"op": "Spawn", "id": "puddle#3"}, {"op": "Unlink", "a": "x", "r": "on", "b": "y"}]}
    )
    assert edits == (Spawn("puddle#3", None, "puddle"), Unlink("x", "on", "y"))
    assert [edit_from_json(edit.to_json()) for edit in edits] == list(edits)


def test_limits_are_configurable() -> None:
    nodes = [{"id": f"cup#{i}", "category": "cup"} for i in range(400)]
    assert len(parse_graph({"nodes": nodes}, Limits(max_nodes=400))) == 400
    with pytest.raises(LimitError):
        parse_json("[1, 2, 3]", Limits(max_bytes=5))


def test_errors_of_files_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(ParseError, match=r"plan\.json: cannot be read: No such file"):
        EventChain.load(path)
    path.write_text('{"a": \n1 2}')
    with pytest.raises(ParseError, match=r"plan\.json: line 2, column 3: not valid JSON"):
        parse_file(path, parse_json)
    path.write_text('{"schema_version": 9}')
    with pytest.raises(ParseError, match=r"plan\.json: \$: lacks the field"):
        EventChain.load(path)
    with pytest.raises(ParseError, match="cannot be read"):
        parse_file(tmp_path, parse_json)

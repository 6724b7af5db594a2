"""`physplan graph`, as a person or a script calls them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from physplan.cli import main
from physplan.graph import StateGraph

GRAPH = {
    "nodes": [
        {"id": "ice#1", "category": "ice cube", "attributes": {"material_phase": "solid", "surface": "dry"}},
        {"id": "tray#2", "category": "tray", "attributes": {"surface": "dry"}},
    ],
    "edges": [{"a": "tray#2", "r": "support", "b": "ice#1"}],
}
DELTA = {
    "states": [
        {
            "object": "ice#1",
            "state": "melted into puddle#3",
            "rule": "ice above its melting point turns into water",
            "new_object": {"id": "puddle#3", "source": "ice#1"},
        }
    ],
    "fraction": 0.3,
}
EDITS = {
    "edits": [
        {
            "op": "Spawn",
            "id": "puddle#3",
            "source": "ice#1",
            "category": "puddle",
            "attributes": {"extent": "small"},
        },
        {"op": "Consume", "o": "ice#1"},
        {"op": "Link", "a": "tray#2", "r": "support", "b": "puddle#3"},
    ]
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in (("G", GRAPH), ("D", DELTA), ("E", EDITS)):
        write(f"{name}.json", value)
    return tmp_path


def write(name: str, value: Any) -> None:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value))


def validate(*more: str) -> int:
    return main(["graph", "--graph", "G.json", "--delta", "D.json", "--edits", "E.json", *more])


@pytest.mark.usefixtures("files")
def test_accepted_edits_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert validate() == 0
    assert capsys.readouterr().out == "Accepted: 3 edits pass all four checks.\n"
    assert validate("--json") == 0
    assert json.loads(capsys.readouterr().out) == {"accepted": True, "violations": []}


@pytest.mark.usefixtures("files")
def test_rejected_edits_end_with_1_and_every_violation(capsys: pytest.CaptureFixture[str]) -> None:
    edits = [*EDITS["edits"], {"op": "Update", "o": "tray#2", "key": "surface", "value": "wet"}]
    edits += [{"op": "Link", "a": "ice#1", "r": "on", "b": "tray#2"}]
    write("E.json", {"edits": edits})
    assert validate() == 1
    out = capsys.readouterr().out
    assert "coverage: edits[3] Update(tray#2, surface, wet): 'tray#2' is not listed in the delta" in out
    assert "grounding: edits[4] Link(ice#1, on, tray#2): 'on' is not a relation" in out
    assert out.endswith("Rejected: 3 violations.\n")
    assert validate("--json") == 1
    result = json.loads(capsys.readouterr().out)
    assert result["accepted"] is False
    assert [(v["check"], v["edit"]) for v in result["violations"]] == [
        ("grounding", 4),
        ("coverage", 3),
        ("consistency", 4),
    ]
    assert all(set(violation) == {"check", "edit", "message"} for violation in result["violations"])


@pytest.mark.usefixtures("files")
def test_objects_consumed_earlier_are_named_by_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    write("E.json", {"edits": [*EDITS["edits"], {"op": "Unlink", "a": "tray#2", "r": "near", "b": "milk#7"}]})
    assert validate("--json", "--consumed", "milk#7", "egg#8") == 1
    checks = [violation["check"] for violation in json.loads(capsys.readouterr().out)["violations"]]
    assert checks == ["coverage", "lineage"]
    assert validate("--json", "--consumed", "egg#8", "--consumed", "milk#7") == 1
    assert "lineage" in capsys.readouterr().out


BAD_FILES: dict[str, tuple[str, Any, str]] = {
    "not JSON": ("G.json", '{"nodes": [\n  {]}', "G.json: line 2, column 4: not valid JSON"),
    "cut off": ("E.json", '{"edits": [', "E.json: line 1, column 12: not valid JSON"),
    "a key twice": (
        "D.json",
        '{"fraction": 0.3, "fraction": 0.4}',
        "D.json: $: has the key 'fraction' twice",
    ),
    "NaN": ("D.json", '{"states": [], "fraction": NaN}', "D.json: $.fraction: 'NaN' is not a finite number"),
    "a list": ("G.json", [], "G.json: $: must be an object"),
    "a wrong type": (
        "E.json",
        {"edits": [{"op": "Consume", "o": 3}]},
        "E.json: $.edits[0].o: must be a string",
    ),
    "another file": ("D.json", EDITS, "D.json: $: lacks the field 'states'"),
    "a graph with a circle": (
        "G.json",
        GRAPH | {"edges": [*GRAPH["edges"], {"a": "ice#1", "r": "support", "b": "tray#2"}]},
        "G.json: $: support runs in a circle",
    ),
    "deep": ("E.json", "[" * 5000, "E.json: $: is nested deeper than 16 levels"),
    "large": ("G.json", " " * 1_000_001, "G.json is larger than 1 MB"),
    "many nodes": (
        "G.json",
        {"nodes": [{"id": f"cup#{i}", "category": "cup"} for i in range(41)]},
        "G.json: $.nodes: has 41 entries, the limit is 40",
    ),
    "a control character": (
        "G.json",
        {"nodes": [{"id": "ice\u0000#1", "category": "ice"}]},
        "G.json: $.nodes[0].id: contains the unprintable character U+0000",
    ),
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_not_what_it_should_be_ends_with_2_and_the_place(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, content, message = BAD_FILES[name]
    write(file, content)
    assert validate("--json") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"physplan: {message}")
    assert captured.err.count("\n") == 1


@pytest.mark.usefixtures("files")
def test_a_missing_file_or_a_folder_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    Path("D.json").unlink()
    assert validate() == 2
    assert capsys.readouterr().err == "physplan: D.json: cannot be read: No such file or directory\n"
    Path("D.json").mkdir()
    assert validate() == 2
    assert "D.json: cannot be read" in capsys.readouterr().err
    Path("E.json").write_bytes(b"\xff\xfe")
    Path("D.json").rmdir()
    write("D.json", DELTA)
    assert validate() == 2
    assert "E.json: line 1: not UTF-8 text" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_the_limit_of_nodes_can_be_raised(capsys: pytest.CaptureFixture[str]) -> None:
    more = [{"id": f"cup#{i}", "category": "cup"} for i in range(10, 60)]
    write("G.json", GRAPH | {"nodes": [*GRAPH["nodes"], *more]})
    assert validate() == 2
    assert validate("--max-nodes", "400") == 0


@pytest.mark.usefixtures("files")
def test_apply_prints_the_next_graph(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--graph", "G.json", "--edits", "E.json"]) == 0
    following = json.loads(capsys.readouterr().out)
    assert [node["id"] for node in following["nodes"]] == ["tray#2", "puddle#3"]
    assert following["nodes"][0] == GRAPH["nodes"][1]
    assert following["nodes"][1]["source"] == "ice#1"
    assert following["edges"] == [{"a": "tray#2", "r": "support", "b": "puddle#3"}]
    StateGraph.from_json(following)
    assert main(["graph", "--graph", "G.json", "--edits", "E.json", "-o", "next.json"]) == 0
    assert json.loads(Path("next.json").read_text()) == following


@pytest.mark.usefixtures("files")
def test_apply_rejects_what_breaks_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    write("E.json", {"edits": [{"op": "Link", "a": "ice#1", "r": "support", "b": "tray#2"}]})
    assert main(["graph", "--graph", "G.json", "--edits", "E.json", "-o", "next.json"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "physplan: E.json is rejected: (consistency)" in captured.err
    assert not Path("next.json").exists()


@pytest.mark.usefixtures("files")
def test_an_output_that_cannot_be_written_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "--graph", "G.json", "--edits", "E.json", "-o", "G.json/next.json"]) == 2
    assert capsys.readouterr().err.startswith("physplan: G.json: ")


@pytest.mark.usefixtures("files")
def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "physplan", "graph", "--graph", "G.json", "--edits", "E.json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout
    process.stdout.close()
    _, errors = process.communicate()
    assert errors == b""


@pytest.mark.parametrize("old", ["validate", "apply"])
def test_the_commands_of_before_name_the_new_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([old, "--graph", "G.json"]) == 2
    assert f"`physplan {old}` is now `physplan graph " in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_checked_edits_can_be_applied_in_the_same_call() -> None:
    assert validate("-o", "next.json") == 0
    assert "puddle#3" in StateGraph.from_json(json.loads(Path("next.json").read_text())).ids

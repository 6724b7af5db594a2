"""The vocabulary and the graph: what is accepted, what is refused, and that nothing can be changed."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from physplan.graph import (
    ATTRIBUTE_KEYS,
    CONVENTIONS,
    RELATIONS,
    Consume,
    Edge,
    GraphError,
    InvalidEdit,
    InvalidGraph,
    Link,
    Node,
    Spawn,
    StateGraph,
    Term,
    Unlink,
    Update,
    apply,
    measure,
)

ICE = Node("ice#1", "ice cube", {"surface": "dry"})
TRAY = Node("tray#2", "tray")


def test_the_vocabulary_is_the_papers() -> None:
    assert ATTRIBUTE_KEYS == ("material_phase", "integrity", "surface", "color", "extent", "configuration")
    depth = {name for name, relation in RELATIONS.items() if relation.measure == "depth"}
    physical = {name for name, relation in RELATIONS.items() if relation.kind == "physical"}
    assert depth == {"containment", "in front of"}
    assert physical == {"support", "contact", "containment", "attachment"}
    assert {name for name, relation in RELATIONS.items() if relation.symmetric} == {"contact", "near"}
    assert len(RELATIONS) == 8
    assert len(CONVENTIONS) == 7
    assert all(set(convention.relations) <= set(RELATIONS) for convention in CONVENTIONS)


def test_graphs_are_equal_whatever_the_order() -> None:
    edges = [Edge("tray#2", "support", "ice#1"), Edge("ice#1", "near", "tray#2")]
    assert StateGraph([ICE, TRAY], edges) == StateGraph([TRAY, ICE], reversed(edges))
    assert StateGraph([ICE, TRAY]) != StateGraph([ICE, TRAY], edges)


def test_symmetric_relations_are_stored_once() -> None:
    assert Edge("tray#2", "near", "ice#1") == Edge("ice#1", "near", "tray#2")
    assert Edge("tray#2", "above", "ice#1") != Edge("ice#1", "above", "tray#2")
    graph = StateGraph([ICE, TRAY], [Edge("tray#2", "contact", "ice#1"), Edge("ice#1", "contact", "tray#2")])
    assert len(graph.edges) == 1
    for ends in (("tray#2", "ice#1"), ("ice#1", "tray#2")):
        assert apply(graph, [Unlink(ends[0], "contact", ends[1])]).edges == ()


def test_nothing_can_be_changed() -> None:
    graph = StateGraph([ICE, TRAY])
    with pytest.raises(AttributeError):
        graph.nodes = ()  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ICE.category = "snow"  # type: ignore[misc]
    with pytest.raises(TypeError):
        ICE.attributes["surface"] = "wet"  # type: ignore[index]
    attributes = {"surface": "dry"}
    node = Node("cup#1", "cup", attributes)
    attributes["surface"] = "wet"
    assert node.attributes == {"surface": "dry"}


def test_lookups() -> None:
    graph = StateGraph([ICE, TRAY], [Edge("tray#2", "support", "ice#1")])
    assert graph.node("ice#1") is ICE
    assert "ice#1" in graph
    assert "ice#2" not in graph
    assert Edge("tray#2", "support", "ice#1") in graph
    assert graph.edges_of("ice#1") == (Edge("tray#2", "support", "ice#1"),)
    with pytest.raises(InvalidGraph, match=r"no node 'ice#2': did you mean 'ice#1'"):
        graph.node("ice#2")


MALFORMED = [
    "",
    " ",
    "ice",
    "ice#",
    "#1",
    "ice#one",
    "ice#01",
    "ice#-1",
    "ice#1 ",
    " ice#1",
    "i#c#1",
    None,
    3,
]
ODD = [
    "ice\n#1",
    "ice#1\n",
    "ice\u200b#1",
    "ice\x00#1",
    "ice\ud800#1",
    "\u202eice#1",
    "cafe\u0301#1",
    "ice#\u0661",
]


@pytest.mark.parametrize("id", [*MALFORMED, *ODD, "ice#1234567890"])
def test_malformed_identifiers_are_refused(id: str) -> None:
    with pytest.raises(InvalidGraph):
        Node(id, "ice")
    with pytest.raises(InvalidGraph):
        Edge(id, "near", "cup#1")


@pytest.mark.parametrize(
    "id", ["ice#0", "ice cube#12", "café#3", "氷#1", "T-shirt#2", "o'clock_tower.x#999999999"]
)
def test_categories_may_be_any_words(id: str) -> None:
    assert Node(id, "thing").id == id


@pytest.mark.parametrize(
    "value", ["", "   ", "wet\n", "we\tt", "wet\u2028", "\ud800", " wet", "e\u0301", 5, None, ["wet"]]
)
def test_malformed_values_are_refused(value: str) -> None:
    with pytest.raises(InvalidGraph):
        Node("cup#1", "cup", {"surface": value})
    with pytest.raises(InvalidGraph):
        Node("cup#1", value)
    with pytest.raises(InvalidEdit):
        Update("cup#1", "surface", value)
    with pytest.raises(InvalidEdit):
        Spawn("cup#1", "ice#1", "cup", {"surface": value})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Node("cup#1", "cup", {"phase": "solid"}), "did you mean 'material_phase'"),
        (lambda: Edge("cup#1", "on", "tray#2"), "no relation 'on'"),
        (lambda: Edge("cup#1", "near", "cup#1"), "related to itself"),
        (lambda: StateGraph([ICE, ICE]), "two nodes have the id ice#1"),
        (
            lambda: StateGraph([ICE], [Edge("tray#2", "support", "ice#1")]),
            "names tray#2, which is not a node",
        ),
        (
            lambda: StateGraph(
                [ICE, TRAY], [Edge("tray#2", "support", "ice#1"), Edge("ice#1", "support", "tray#2")]
            ),
            "support runs in a circle, ice#1 -> tray#2 -> ice#1",
        ),
        (lambda: Node("cup#1", "cup", {"material_phase": "solid", "material phase": "gas"}), "given twice"),
    ],
)
def test_refusals_say_what_to_do(make: object, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        make()  # type: ignore[operator]


def test_both_spellings_are_read_and_one_is_stored() -> None:
    assert Node("cup#1", "cup", {"material phase": "solid"}).attributes == {"material_phase": "solid"}
    assert Edge("cup#1", "in_front_of", "tray#2").r == "in front of"


def test_graphs_and_edits_can_be_sent_to_other_processes() -> None:
    graph = StateGraph([ICE, TRAY], [Edge("tray#2", "support", "ice#1")])
    spawn = Spawn("puddle#3", "ice#1", "puddle", {"extent": "small"})
    assert pickle.loads(pickle.dumps((graph, spawn))) == (graph, spawn)
    assert {spawn} == {Spawn("puddle#3", "ice#1", "puddle", {"extent": "small"})}


def test_apply_refuses_what_has_no_defined_result() -> None:
    graph = StateGraph([ICE, TRAY], [Edge("tray#2", "support", "ice#1")])
    for edits in (
        [Update("cup#1", "surface", "wet")],
        [Update("ice#1", "mood", "wet")],
        [Update("ice#1", "surface", "wet"), Update("ice#1", "surface", "icy")],
        [Consume("cup#1")],
        [Consume("ice#1"), Update("ice#1", "surface", "wet")],
        [Consume("ice#1"), Link("ice#1", "near", "tray#2")],
        [Link("ice#1", "near", "cup#1")],
        [Link("ice#1", "on", "tray#2")],
        [Link("ice#1", "near", "ice#1")],
        [Link("ice#1", "support", "tray#2")],
        [Link("ice#1", "near", "tray#2"), Unlink("tray#2", "near", "ice#1")],
        [Spawn("tray#2", "ice#1", "tray")],
        [Spawn("cup#1", "ice#1", "cup"), Spawn("cup#1", "ice#1", "cup")],
        [Spawn("cup", "ice#1", "cup")],
        [Spawn("cup#1", "ice#1", "cup", {"mood": "wet"})],
    ):
        with pytest.raises(InvalidEdit):
            apply(graph, edits)


def test_consume_takes_the_edges_with_it() -> None:
    graph = StateGraph([ICE, TRAY], [Edge("tray#2", "support", "ice#1"), Edge("ice#1", "near", "tray#2")])
    assert apply(graph, [Consume("ice#1")]) == StateGraph([TRAY])


@pytest.mark.parametrize(
    ("edit", "term"),
    [
        (Update("a#1", "surface", "wet"), Term.APPEARANCE),
        (Update("a#1", "extent", "large"), Term.EXTENT),
        (Link("a#1", "support", "b#2"), Term.POSITION),
        (Unlink("a#1", "left of", "b#2"), Term.POSITION),
        (Link("a#1", "containment", "b#2"), Term.DEPTH),
        (Unlink("a#1", "in front of", "b#2"), Term.DEPTH),
        (Spawn("a#1", "b#2", "a"), Term.COUNT),
        (Consume("a#1"), Term.COUNT),
    ],
)
def test_each_edit_is_measured_by_the_term_of_table_1(edit: Update, term: Term) -> None:
    assert measure(edit) is term


def test_an_edit_outside_the_vocabulary_has_no_term() -> None:
    for edit in (Update("a#1", "mood", "sad"), Link("a#1", "on", "b#2")):
        with pytest.raises(InvalidEdit, match="no term measures"):
            measure(edit)


def test_the_graph_imports_fast_and_without_heavy_libraries() -> None:
    code = (
        "import sys, time; before = set(sys.modules); start = time.process_time(); import physplan.graph; "
        "took = time.process_time() - start; "
        "heavy = {'torch', 'numpy', 'pydantic', 'PIL', 'rich'} & set(sys.modules); print(took, *heavy)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    results = [run.stdout.split() for run in runs]
    assert all(len(result) == 1 for result in results), results
    assert min(float(result[0]) for result in results) < 0.3

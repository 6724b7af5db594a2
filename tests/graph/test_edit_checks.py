"""Appendix A.2, sentence by sentence: what the checks accept, what they reject, and what they say."""

from __future__ import annotations

import pytest

from physplan.graph import (
    Consume,
    Edge,
    GraphEdit,
    Link,
    NewObject,
    Node,
    PhysicalDelta,
    Spawn,
    StateChange,
    StateGraph,
    Unlink,
    Update,
    Violation,
    check,
)

GRAPH = StateGraph(
    [
        Node("ice#1", "ice cube", {"material_phase": "solid", "extent": "small"}),
        Node("tray#2", "tray", {"surface": "dry"}),
        Node("table#4", "table"),
    ],
    [
        Edge("tray#2", "support", "ice#1"),
        Edge("table#4", "support", "tray#2"),
        Edge("ice#1", "near", "table#4"),
    ],
)
WET_TRAY = Update("tray#2", "surface", "wet")
PUDDLE = Spawn("puddle#3", "ice#1", "puddle", {"extent": "small"})


def delta(*objects: str, new: str | None = None, source: str = "ice#1") -> PhysicalDelta:
    states = [StateChange(id, "changes", "it follows") for id in objects]
    if new:
        states[0] = StateChange(objects[0], "changes", "it follows", NewObject(new, source))
    return PhysicalDelta(tuple(states), 0.3)


def violations(
    on: PhysicalDelta | None, *edits: GraphEdit, consumed: tuple[str, ...] = ()
) -> tuple[Violation, ...]:
    return check(GRAPH, on, edits, consumed)


def names(on: PhysicalDelta | None, *edits: GraphEdit, consumed: tuple[str, ...] = ()) -> list[str]:
    return [violation.check for violation in violations(on, *edits, consumed=consumed)]


ACCEPTED: dict[str, tuple[PhysicalDelta, list[GraphEdit]]] = {
    "an update": (delta("tray#2"), [WET_TRAY]),
    "melting": (
        delta("ice#1", new="puddle#3"),
        [PUDDLE, Consume("ice#1"), Link("tray#2", "support", "puddle#3")],
    ),
    "a spawn counts as an edit of its source": (delta("ice#1"), [PUDDLE]),
    "a spawn counts as an edit of the new object": (delta("puddle#3"), [PUDDLE]),
    "a new object that the delta announces may be updated": (
        delta("ice#1", new="puddle#3"),
        [PUDDLE, Update("puddle#3", "surface", "glossy")],
    ),
    "the other end of a link may be unlisted": (delta("ice#1"), [Link("table#4", "contact", "ice#1")]),
    "links between a spawned and an unlisted object": (
        delta("ice#1"),
        [PUDDLE, Link("table#4", "contact", "puddle#3")],
    ),
    "one attribute of two objects": (delta("ice#1", "tray#2"), [WET_TRAY, Update("ice#1", "surface", "wet")]),
    "turning a stack over": (
        delta("ice#1"),
        [Unlink("tray#2", "support", "ice#1"), Link("ice#1", "support", "tray#2")],
    ),
    "what a consumed object held up may hold up what stood on it": (
        delta("ice#1", "tray#2"),
        [Consume("tray#2"), Link("ice#1", "support", "table#4")],
    ),
    "unlinking a consumed object is needless but true": (
        delta("ice#1"),
        [Consume("ice#1"), Unlink("tray#2", "support", "ice#1")],
    ),
    "linking what is linked": (delta("ice#1"), [Link("tray#2", "support", "ice#1")]),
    "unlinking what is not linked": (delta("ice#1"), [Unlink("ice#1", "contact", "tray#2")]),
    "setting the value it has": (delta("tray#2"), [Update("tray#2", "surface", "dry")]),
    "consuming twice is consuming": (delta("ice#1"), [Consume("ice#1"), Consume("ice#1")]),
    "a circle of another relation": (
        delta("ice#1", "tray#2"),
        [Link("ice#1", "above", "tray#2"), Link("tray#2", "above", "ice#1")],
    ),
    "support one way and containment the other": (delta("ice#1"), [Link("ice#1", "containment", "tray#2")]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepts(name: str) -> None:
    on, edits = ACCEPTED[name]
    assert violations(on, *edits) == ()


REJECTED: dict[str, tuple[str, int | None, str, PhysicalDelta, list[GraphEdit]]] = {
    # name: (check, index of the edit, part of the sentence, delta, edits)
    "update of an unknown node": (
        "grounding",
        1,
        "did you mean 'tray#2'",
        delta("tray#2", "tray#3"),
        [WET_TRAY, Update("tray#3", "surface", "wet")],
    ),
    "update of an object that is announced but not spawned": (
        "grounding",
        1,
        "add Spawn(puddle#3 <- ice#1)",
        delta("ice#1", new="puddle#3"),
        [Consume("ice#1"), Update("puddle#3", "extent", "large")],
    ),
    "link to an unknown node": (
        "grounding",
        0,
        "'fork#9'",
        delta("tray#2"),
        [Link("tray#2", "support", "fork#9")],
    ),
    "consume of an unknown node": ("grounding", 0, "'fork#9'", delta("fork#9"), [Consume("fork#9")]),
    "unknown attribute key": (
        "grounding",
        0,
        "did you mean 'material_phase'",
        delta("ice#1"),
        [Update("ice#1", "phase", "liquid")],
    ),
    "unknown key of a spawned object": (
        "grounding",
        0,
        "'temperature'",
        delta("ice#1"),
        [Spawn("puddle#3", "ice#1", "puddle", {"temperature": "warm"})],
    ),
    "unknown relation": (
        "grounding",
        0,
        "'pours into'",
        delta("ice#1"),
        [Link("ice#1", "pours into", "tray#2")],
    ),
    "inverse of a relation": (
        "grounding",
        0,
        "write Link(table#4, in front of, ice#1)",
        delta("ice#1"),
        [Link("ice#1", "behind", "table#4")],
    ),
    "spawn of an id that exists": (
        "grounding",
        0,
        "already exists",
        delta("ice#1"),
        [Spawn("tray#2", "ice#1", "tray", {})],
    ),
    "spawn of an id twice": (
        "grounding",
        1,
        "spawned twice",
        delta("ice#1"),
        [PUDDLE, Spawn("puddle#3", "ice#1", "x")],
    ),
    "spawn of a malformed id": (
        "grounding",
        0,
        "<category>#<n>",
        delta("ice#1"),
        [Spawn("puddle", "ice#1", "puddle", {})],
    ),
    "a listed object that is not edited": (
        "coverage",
        None,
        "ice#1 is listed",
        delta("ice#1", "tray#2"),
        [WET_TRAY],
    ),
    "nothing at all": ("coverage", None, "ice#1 is listed", delta("ice#1"), []),
    "an announced object that is not spawned": (
        "coverage",
        None,
        "add Spawn(puddle#3 <- ice#1)",
        delta("ice#1", new="puddle#3"),
        [Consume("ice#1")],
    ),
    "update of an unlisted object": (
        "coverage",
        1,
        "remove this edit",
        delta("tray#2"),
        [WET_TRAY, Update("table#4", "surface", "wet")],
    ),
    "consume of an unlisted object": (
        "coverage",
        1,
        "'ice#1' is not",
        delta("tray#2"),
        [WET_TRAY, Consume("ice#1")],
    ),
    "link between unlisted objects": (
        "coverage",
        1,
        "neither end",
        delta("tray#2"),
        [WET_TRAY, Link("table#4", "contact", "ice#1")],
    ),
    "unlink between unlisted objects": (
        "coverage",
        1,
        "neither end",
        delta("tray#2"),
        [WET_TRAY, Unlink("ice#1", "near", "table#4")],
    ),
    "spawn that the delta says nothing of": (
        "coverage",
        1,
        "neither the new object nor its source",
        delta("tray#2"),
        [WET_TRAY, PUDDLE],
    ),
    "update of an object spawned here that the delta does not announce": (
        "coverage",
        1,
        "attributes of its Spawn",
        delta("ice#1"),
        [PUDDLE, Update("puddle#3", "surface", "glossy")],
    ),
    "spawn without a source": (
        "lineage",
        0,
        "needs a source",
        delta("puddle#3"),
        [Spawn("puddle#3", None, "puddle", {})],
    ),
    "spawn from an unknown source": (
        "lineage",
        0,
        "name one of: ice#1, tray#2, table#4",
        delta("puddle#3"),
        [Spawn("puddle#3", "milk#7", "puddle")],
    ),
    "spawn from another source than the delta says": (
        "lineage",
        0,
        "the delta says that puddle#3 comes from ice#1; name that source",
        delta("puddle#3", new="puddle#3"),
        [Spawn("puddle#3", "tray#2", "puddle")],
    ),
    "spawn from an object spawned here": (
        "lineage",
        1,
        "itself spawned",
        delta("ice#1", "steam#5"),
        [PUDDLE, Spawn("steam#5", "puddle#3", "steam")],
    ),
    "spawn from itself": (
        "lineage",
        0,
        "itself spawned",
        delta("puddle#3"),
        [Spawn("puddle#3", "puddle#3", "puddle")],
    ),
    "attribute set twice": (
        "consistency",
        1,
        "edits[0] already sets surface",
        delta("tray#2"),
        [WET_TRAY, Update("tray#2", "surface", "icy")],
    ),
    "attribute set twice to the same value": (
        "consistency",
        1,
        "keep one",
        delta("tray#2"),
        [WET_TRAY, WET_TRAY],
    ),
    "attribute set by spawn and update": (
        "consistency",
        1,
        "already sets extent",
        delta("puddle#3"),
        [PUDDLE, Update("puddle#3", "extent", "large")],
    ),
    "edge linked and unlinked": (
        "consistency",
        1,
        "opposite",
        delta("ice#1"),
        [Link("ice#1", "contact", "tray#2"), Unlink("tray#2", "contact", "ice#1")],
    ),
    "consume and update": (
        "consistency",
        1,
        "consumes ice#1",
        delta("ice#1"),
        [Consume("ice#1"), Update("ice#1", "surface", "wet")],
    ),
    "consume and link": (
        "consistency",
        0,
        "consumes ice#1",
        delta("ice#1"),
        [Link("ice#1", "contact", "tray#2"), Consume("ice#1")],
    ),
    "spawn and consume": (
        "consistency",
        0,
        "consumes puddle#3",
        delta("puddle#3"),
        [PUDDLE, Consume("puddle#3")],
    ),
    "support in a circle": (
        "consistency",
        0,
        "ice#1 -> table#4 -> tray#2 -> ice#1",
        delta("ice#1"),
        [Link("ice#1", "support", "table#4")],
    ),
    "containment in a circle made in one set": (
        "consistency",
        1,
        "containment would run in a circle",
        delta("ice#1"),
        [Link("ice#1", "containment", "tray#2"), Link("tray#2", "containment", "ice#1")],
    ),
    "an object on itself": ("consistency", 0, "itself", delta("ice#1"), [Link("ice#1", "support", "ice#1")]),
    "an object near itself": ("consistency", 0, "itself", delta("ice#1"), [Link("ice#1", "near", "ice#1")]),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejects(name: str) -> None:
    kind, index, part, on, edits = REJECTED[name]
    found = violations(on, *edits)
    assert [(violation.check, violation.edit) for violation in found] == [(kind, index)]
    assert part in found[0].message
    if index is not None:
        assert found[0].message.startswith(f"edits[{index}] {edits[index]}: ")


def test_consumed_objects_are_gone_for_good() -> None:
    """An edit of one is a matter of lineage; its id is not new either, which is a matter of grounding."""
    gone = ("milk#7",)
    update = Update("milk#7", "surface", "wet")
    assert names(delta("milk#7"), update, consumed=gone) == ["lineage"]
    assert names(delta("milk#7"), Consume("milk#7"), consumed=gone) == ["lineage"]
    assert names(delta("ice#1"), Link("ice#1", "near", "milk#7"), consumed=gone) == ["lineage"]
    assert names(delta("ice#1"), Unlink("milk#7", "near", "ice#1"), consumed=gone) == ["lineage"]
    assert names(delta("puddle#3"), Spawn("puddle#3", "milk#7", "puddle"), consumed=gone) == ["lineage"]
    assert names(delta("ice#1"), Spawn("milk#7", "ice#1", "milk"), consumed=gone) == ["grounding"]
    assert names(delta("milk#7"), update) == ["grounding"]
    assert names(delta("ice#1"), Update("ice#1", "surface", "wet"), consumed=("ice#1",)) == ["lineage"]


def test_every_check_reports_even_when_one_edit_is_wrong_in_several_ways() -> None:
    edits = [
        Spawn("ice#1", "ghost#1", "ice", {"mood": "cold"}),
        Update("ghost#2", "mood", "cold"),
        Update("ghost#2", "mood", "warm"),
        Link("table#4", "pours", "table#4"),
        Link("milk#7", "support", "ice#1"),
        Consume("ice#1"),
    ]
    found = violations(delta("tray#2"), *edits, consumed=("milk#7",))
    assert {violation.check for violation in found} == {"grounding", "coverage", "lineage", "consistency"}
    assert {violation.edit for violation in found} == {None, 0, 1, 2, 3, 4, 5}
    assert all(len(violation.message) < 400 for violation in found)


def test_without_a_delta_only_coverage_is_left_out() -> None:
    assert names(None, Update("table#4", "surface", "wet")) == []
    assert names(None, Update("ghost#1", "surface", "wet")) == ["grounding"]


def test_both_spellings_of_a_name_are_one_name() -> None:
    edits = [Update("ice#1", "material phase", "liquid"), Update("ice#1", "material_phase", "gas")]
    assert names(delta("ice#1"), *edits) == ["consistency"]
    assert names(delta("ice#1"), Link("ice#1", "in_front_of", "table#4")) == []

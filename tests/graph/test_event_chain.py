"""The plan as a file: built, saved, edited by hand, read again."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_melting_ice import melting_ice

from physplan.graph import (
    Consume,
    EventChain,
    GraphError,
    InvalidChain,
    Node,
    ParseError,
    PhysicalDelta,
    RejectedEdits,
    Spawn,
    StateChange,
    StateGraph,
    TimingError,
    Unlink,
    Update,
    objects_so_far,
)


def test_a_plan_is_saved_and_loaded_exactly(tmp_path: Path) -> None:
    chain = melting_ice()
    chain.save(tmp_path / "plan.json")
    assert EventChain.load(tmp_path / "plan.json") == chain


def test_instructions_travel_with_their_events() -> None:
    chain = melting_ice()
    events = tuple(dataclasses.replace(event, instruction=f"draw {event.anchor}") for event in chain.events)
    chain = dataclasses.replace(chain, events=events)
    again = EventChain.from_json(chain.to_json())
    assert [event.instruction for event in again.events] == ["draw 14", "draw 29", "draw 41"]
    again.verify()


def test_objects_so_far_counts_from_the_first_frame() -> None:
    chain = melting_ice()
    assert objects_so_far(chain, 0) == ("ice#1", "tray#2", "table#4")
    assert objects_so_far(chain, 1) == ("ice#1", "tray#2", "table#4")
    assert objects_so_far(chain, 3) == ("ice#1", "tray#2", "table#4", "puddle#3")
    with pytest.raises(IndexError):
        objects_so_far(chain, 4)


def test_an_object_is_found_even_when_consumed() -> None:
    chain = melting_ice()
    assert chain.node("ice#1").attributes["material_phase"] == "solid"
    assert chain.node("puddle#3").source == "ice#1"
    with pytest.raises(GraphError, match="no node 'cup#9'"):
        chain.node("cup#9")


def test_lineage_goes_back_through_objects_that_came_and_went() -> None:
    graph = StateGraph([Node("ice#1", "ice"), Node("pan#2", "pan")])
    steps: list[list[Any]] = [
        [Spawn("water#3", "ice#1", "water"), Consume("ice#1")],
        [Spawn("steam#4", "water#3", "steam"), Consume("water#3")],
    ]
    deltas = [
        PhysicalDelta((StateChange("ice#1", "melts", "heat melts ice"),), 0.4),
        PhysicalDelta((StateChange("water#3", "boils", "heat boils water"),), 0.4),
    ]
    chain = EventChain.build(prompt="boil it", num_frames=17, graph=graph, deltas=deltas, edits=steps)
    assert chain.origin("steam#4") == "ice#1"
    assert chain.events[1].net_edits == (Consume("ice#1"), Spawn("steam#4", "water#3", "steam"))


def test_a_value_set_back_leaves_no_net_edit() -> None:
    graph = StateGraph([Node("door#1", "door", {"configuration": "closed"})])
    steps = [[Update("door#1", "configuration", "open")], [Update("door#1", "configuration", "closed")]]
    deltas = [PhysicalDelta((StateChange("door#1", "moves", "it is pushed"),), 0.4)] * 2
    chain = EventChain.build(prompt="a draught", num_frames=17, graph=graph, deltas=deltas, edits=steps)
    assert chain.events[1].net_edits == ()


def test_a_rejected_set_names_the_event_and_the_violations() -> None:
    graph = StateGraph([Node("cup#1", "cup"), Node("tray#2", "tray")])
    delta = PhysicalDelta((StateChange("cup#1", "tips over", "gravity"),), 0.4)
    with pytest.raises(RejectedEdits, match=r"event 1 is rejected: \(coverage\)") as caught:
        EventChain.build(
            prompt="it tips",
            num_frames=17,
            graph=graph,
            deltas=[delta],
            edits=[[Update("tray#2", "surface", "wet")]],
        )
    assert [violation.check for violation in caught.value.violations] == ["coverage", "coverage"]


def test_a_node_consumed_by_an_earlier_event_stays_gone() -> None:
    graph = StateGraph([Node("cup#1", "cup"), Node("tray#2", "tray")])
    delta = PhysicalDelta((StateChange("cup#1", "goes", "it is taken"),), 0.4)
    with pytest.raises(RejectedEdits) as caught:
        EventChain.build(
            prompt="it goes",
            num_frames=17,
            graph=graph,
            deltas=[delta, delta],
            edits=[[Consume("cup#1")], [Unlink("cup#1", "near", "tray#2")]],
        )
    assert [violation.check for violation in caught.value.violations] == ["lineage"]


def test_verify_finds_what_does_not_follow() -> None:
    chain = melting_ice()
    for change in ({"anchor": 15}, {"graph": chain.graph}, {"net_edits": ()}):
        events = (dataclasses.replace(chain.events[0], **change), *chain.events[1:])
        with pytest.raises(InvalidChain, match=f"{next(iter(change))} of event 1 does not follow"):
            dataclasses.replace(chain, events=events).verify()


Change = Callable[[dict[str, Any]], object]
EDITED: dict[str, tuple[Change, str]] = {
    "a stale anchor": (
        lambda plan: plan["events"][1].update(anchor=3),
        r"\$\.events\[1\]\.anchor: does not follow",
    ),
    "a stale graph": (
        lambda plan: plan["events"][0].update(graph=plan["graph"]),
        r"events\[0\]\.graph: does not",
    ),
    "a stale net edit": (
        lambda plan: plan["events"][2]["net_edits"].pop(),
        r"events\[2\]\.net_edits: does not",
    ),
    "another schema": (
        lambda plan: plan.update(schema_version=2),
        r"\$\.schema_version: .*reads schema 1, not 2",
    ),
    "no events": (lambda plan: plan.update(events=[]), "at least one event"),
    "a misspelt field": (
        lambda plan: plan["events"][0].update(edit=[]),
        "unknown field 'edit': did you mean 'edits'",
    ),
    "an empty prompt": (lambda plan: plan.update(prompt=" "), "prompt is empty"),
    "frames as text": (lambda plan: plan.update(num_frames="49"), r"\$\.num_frames: must be a whole number"),
    "too few frames": (lambda plan: plan.update(num_frames=3), "3 frames are too few"),
    "an instruction that is no text": (
        lambda plan: plan["events"][0].update(instruction=1),
        r"\.instruction: must be",
    ),
    "a circle": (
        lambda plan: plan["graph"]["edges"].append({"a": "ice#1", "r": "support", "b": "table#4"}),
        r"\$\.graph: support runs in a circle",
    ),
    "edits that break a check": (
        lambda plan: plan["events"][0]["edits"].pop(),
        r"\$\.events: the edit set of event 1 is rejected: \(coverage\) tray#2 is listed",
    ),
}


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_plan_is_refused_with_the_place(name: str) -> None:
    change, message = EDITED[name]
    plan = copy.deepcopy(melting_ice().to_json())
    change(plan)
    with pytest.raises(ParseError, match=message):
        EventChain.from_json(plan)


def test_what_is_computed_can_be_recomputed_after_an_edit_by_hand() -> None:
    plan = melting_ice().to_json()
    plan["events"][0]["delta"]["fraction"] = 0.1
    plan["events"][2]["edits"][0]["value"] = "spread over the whole tray"
    with pytest.raises(ParseError, match="delete it, and it is computed anew"):
        EventChain.from_json(plan)
    chain = EventChain.from_json(plan, recompute=True)
    assert chain.anchors == (5, 19, 31)
    assert Update("puddle#3", "extent", "spread over the whole tray") in chain.events[2].net_edits


def test_build_needs_an_edit_set_for_each_delta() -> None:
    chain = melting_ice()
    deltas = [event.delta for event in chain.events]
    with pytest.raises(InvalidChain, match="3 deltas need as many edit sets"):
        EventChain.build(prompt="x", num_frames=49, graph=chain.graph, deltas=deltas, edits=[])
    with pytest.raises(TimingError):
        EventChain.build(
            prompt="x", num_frames=3, graph=chain.graph, deltas=deltas, edits=[e.edits for e in chain.events]
        )


def test_a_plan_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps({"nodes": []}))
    with pytest.raises(ParseError, match="lacks the field 'schema_version'"):
        EventChain.load(tmp_path / "plan.json")

"""The paper's own example (appendix A.7): an ice cube melting in the sun, on a tray, 49 frames."""

from __future__ import annotations

from importlib.resources import files

from physplan.graph import Consume, EventChain, Link, Spawn, Update, net_edits, parse_json

PUDDLE = {"material_phase": "liquid", "color": "clear", "extent": "small"}


def melting_ice() -> EventChain:
    text = (files("physplan") / "data" / "melting_ice.json").read_bytes()
    return EventChain.from_json(parse_json(text))


def test_anchors_are_those_of_the_paper() -> None:
    assert melting_ice().anchors == (14, 29, 41)


def test_net_edits_at_the_final_state_are_exactly_the_papers_five() -> None:
    net = melting_ice().events[-1].net_edits
    assert net == (
        Consume("ice#1"),
        Spawn("puddle#3", "ice#1", "puddle", PUDDLE),
        Update("puddle#3", "extent", "spread over most of the tray"),
        Link("tray#2", "support", "puddle#3"),
        Update("tray#2", "surface", "wet"),
    )


def test_net_edits_of_the_first_event_are_its_edits() -> None:
    chain = melting_ice()
    assert set(chain.events[0].net_edits) == set(chain.events[0].edits)


def test_net_edits_from_the_edit_sets_are_those_of_the_chain() -> None:
    chain = melting_ice()
    sets = [event.edits for event in chain.events]
    for i, event in enumerate(chain.events):
        assert net_edits(chain.graph, sets[: i + 1]) == event.net_edits


def test_the_table_that_no_delta_names_is_the_same_object_throughout() -> None:
    chain = melting_ice()
    assert all(graph.node("table#4") is chain.graph.node("table#4") for graph in chain.graphs)


def test_lineage_leads_back_to_the_first_frame() -> None:
    chain = melting_ice()
    assert chain.origin("puddle#3") == "ice#1"
    assert chain.origin("tray#2") == "tray#2"

"""The planning ablations (i) and (ii), and the statistics of the checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan.graph import CHECKS, Edge, EventChain, Node, Spawn, StateGraph, Update, apply, check
from physplan.reasoning import PlanningFailed, PlanRecord, plan
from physplan_bench.checks import shares, statistics
from physplan_models.reasoning.ablations import FullGraphReasoner, PromptDerivedReasoner, differences
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked
from physplan_testing.melting import PROMPT, attributes
from physplan_testing.sites import MakeSite


def test_a_prompt_derived_plan_has_no_graph_of_the_scene(make_site: MakeSite, picture: Path) -> None:
    scenes = [
        {"description": "A half-molten ice cube on a wet tray.", "fraction": 0.4},
        {"description": "A puddle on the tray.", "fraction": 0.3},
    ]
    site = make_site(lambda asked: Answer(text=json.dumps({"scenes": scenes})))
    chain = plan(site.reasoner(PromptDerivedReasoner), picture, PROMPT)
    assert chain.graph.ids == ("scene#1",)
    assert chain.anchors == (19, 34)
    assert [event.instruction for event in chain.events] == [scene["description"] for scene in scenes]
    assert len(site.server.asked) == 1, "one pass"
    assert chain.provenance["reasoner"] == "prompt-derived"
    assert EventChain.from_json(chain.to_json()) == chain


def full_graph_plan(asked: Asked) -> Answer:
    """Rewrites the whole graph; at the first event it also changes the table, which no delta mentions."""
    if asked.act != "nodes" or melting.block(asked, "delta") is None:
        return melting.respond(asked)
    graph = melting.block(asked, "graph")
    nodes = [{**n, "source": "", "attributes": attributes(**n["attributes"])} for n in graph["nodes"]]
    by_id = {n["id"]: n for n in nodes}
    edges = graph["edges"]
    event = melting.event_of(asked)
    if event == 0:
        by_id["ice#1"]["attributes"]["material_phase"] = "partially melted"
        by_id["table#4"]["attributes"]["color"] = "black"
    elif event == 1:
        nodes = [n for n in nodes if n["id"] != "ice#1"]
        liquid = attributes(material_phase="liquid")
        nodes.append({"id": "puddle#3", "category": "puddle", "source": "ice#1", "attributes": liquid})
        edges = [e for e in edges if "ice#1" not in (e["a"], e["b"])]
        edges.append({"a": "tray#2", "r": "support", "b": "puddle#3"})
    else:
        by_id["puddle#3"]["attributes"]["extent"] = "spread over most of the tray"
    return Answer(text=json.dumps({"nodes": nodes, "edges": edges}))


def test_full_graph_regeneration_lets_unmentioned_objects_change(make_site: MakeSite, picture: Path) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.act == "instruction":  # whatever it says: two attempts, then written from the net edits
            return Answer(text='{"instruction": ""}')
        return full_graph_plan(asked)

    site = make_site(respond)
    chain = plan(site.reasoner(FullGraphReasoner), picture, PROMPT)
    assert Update("table#4", "color", "black") in chain.events[0].edits
    assert "table#4" in chain.events[0].delta.objects()
    assert "tray#2" not in chain.events[0].delta.objects(), "what the graph leaves as it is drops out"
    assert isinstance(chain.events[1].edits[0], Spawn)
    assert chain.anchors == (14, 29, 41)
    assert EventChain.from_json(chain.to_json()) == chain


def test_differences_lead_from_one_graph_to_the_other() -> None:
    before = StateGraph([Node("a#1", "a", {"color": "red"}), Node("b#2", "b")], [Edge("a#1", "near", "b#2")])
    after = StateGraph(
        [Node("a#1", "a", {"color": "blue"}), Node("c#3", "c", source="b#2")], [Edge("a#1", "support", "c#3")]
    )
    edits = tuple(differences(before, after))
    assert check(before, None, edits) == ()
    assert apply(before, edits) == after


def test_statistics_over_many_plans(gemini_site: MakeSite, picture: Path, tmp_path: Path) -> None:
    """One plan at first attempt, one with a coverage and a grounding violation, one that is rejected."""
    plans = tmp_path / "plans"
    bad = [*melting.EDITS[0], melting.edit("Update", o="table#4", key="surface", value="wet")]
    worse = [*melting.EDITS[2], melting.edit("Link", a="tray#2", r="near", b="ghost#7")]

    def faulty(asked: Asked) -> Answer:
        if asked.act == "edits" and melting.block(asked, "attempt") is None:
            edits = {0: bad, 2: worse}.get(melting.event_of(asked))
            if edits:
                return Answer(text=json.dumps({"edits": edits}))
        return melting.respond(asked)

    def hopeless(asked: Asked) -> Answer:
        if asked.act == "edits":
            return Answer(text=json.dumps({"edits": [melting.edit("Consume", o="table#4")]}))
        tries = len(melting.block(asked, "rejected_events") or [])
        if asked.act == "deltas" and tries:
            new = [{"states": [melting.state("ice#1", "s" * tries, "ice melts")], "fraction": 0.3}]
            return Answer(text=json.dumps({"deltas": new}))
        return melting.respond(asked)

    site = gemini_site(melting.respond)
    plan(site.reasoner(), picture, PROMPT).save(plans / "one.json")
    site.folder, site.server.respond = tmp_path / "second", faulty
    plan(site.reasoner(), picture, PROMPT).save(plans / "deep" / "two.json")
    (plans / "prices.json").write_text("{}")
    (plans / "broken.json").write_text("{")
    result = statistics(plans)
    assert (result.plans, result.first, result.retried, result.rejected) == (2, 4, 2, 0)
    assert result.skipped == [str(plans / "broken.json")]
    site.folder, site.server.respond = tmp_path / "third", hopeless
    record = PlanRecord()
    with pytest.raises(PlanningFailed):
        plan(site.reasoner(), picture, PROMPT, record=record)
    (plans / "three.unfinished.json").write_text(json.dumps(record.to_json("failed")))
    result = statistics(plans)
    assert (result.plans, result.first, result.retried, result.rejected) == (3, 4, 2, 3)
    rows = shares(result)
    assert rows["First attempt"] == pytest.approx(100 * 4 / 9)
    assert rows["After retries"] == pytest.approx(100 * 2 / 3)
    assert rows["Rejected"] == pytest.approx(100 / 3)
    assert sum(rows[name.capitalize()] or 0.0 for name in CHECKS) == pytest.approx(100)
    assert (rows["Coverage"] or 0) > (rows["Grounding"] or 0) > 0


def test_a_plan_stopped_between_two_attempts_is_not_counted_as_rejected(tmp_path: Path) -> None:
    attempt = {"event": 1, "generation": 0, "attempt": 1, "violations": [{"check": "lineage", "message": ""}]}
    stopped = {"events": [], "provenance": {"checks": [attempt]}}
    (tmp_path / "plan.unfinished.json").write_text(json.dumps(stopped))
    assert statistics(tmp_path).edit_sets == 0


def test_a_folder_without_plans_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="no plans"):
        statistics(tmp_path)
    with pytest.raises(PhysPlanError, match="not a folder"):
        statistics(tmp_path / "nowhere")

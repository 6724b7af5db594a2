"""Full plans through the real SDKs, against servers that speak the real protocols and make real trouble."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from physplan.calls.gateway import Gateway
from physplan.calls.ledger import BudgetExceeded
from physplan.calls.offline import OfflineClient
from physplan.calls.protocol import CallFault
from physplan.calls.store import AnswerStore
from physplan.graph import Consume, EventChain, Link, Spawn, Update
from physplan.reasoning import plan
from physplan.reasoning.planner import PlanningFailed
from physplan.reasoning.record import PlanRecord
from physplan_models.reasoning.vlm import VLMReasoner
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked
from physplan_testing.melting import PROMPT
from physplan_testing.sites import MODEL, QUICK, MakeSite


def once(trouble: Answer | None, act: str = "deltas"):
    """The melting scene, with one kind of trouble at the first request for an act."""
    left = [trouble]

    def respond(asked: Asked) -> Answer | None:
        return left.pop() if asked.act == act and left else melting.respond(asked)

    return respond


def test_melting_ice_gives_the_papers_chain(make_site: MakeSite, picture: Path) -> None:
    site = make_site(melting.respond)
    chain = plan(site.reasoner(), picture, PROMPT)
    assert chain.anchors == (14, 29, 41)
    assert set(map(str, chain.events[-1].net_edits)) == {
        str(Consume("ice#1")),
        "Spawn(puddle#3 <- ice#1)",
        str(Update("puddle#3", "extent", "spread over most of the tray")),
        str(Link("tray#2", "support", "puddle#3")),
        str(Update("tray#2", "surface", "wet")),
    }
    assert [event.instruction for event in chain.events] == melting.INSTRUCTIONS
    assert chain.graphs[-1].node("table#4") == chain.graph.node("table#4")
    assert isinstance(chain.events[1].edits[0], Spawn)
    assert sorted(site.server.acts()) == sorted(["nodes", "deltas", *["edits"] * 3, *["instruction"] * 3])


def test_every_request_is_constrained_and_carries_what_its_act_needs(
    make_site: MakeSite, picture: Path
) -> None:
    site = make_site(melting.respond)
    plan(site.reasoner(), picture, PROMPT)
    for asked in site.server.asked:
        assert asked.model == MODEL
        assert asked.temperature == 0
        assert asked.schema is not None
        assert asked.max_output_tokens == 16_384
        assert len(asked.images) == (0 if asked.act == "edits" else 1)
        assert PROMPT not in asked.system
    parse = site.server.asked[0]
    for convention in ("floats on a liquid", "submerged", "leans", "hangs", "covers", "right of, below"):
        assert convention in parse.system


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (Answer(status=429, headers={"Retry-After": "0.05"}), 429),
        (Answer(status=503), 503),
        (Answer(status=408), 408),
        (None, None),
    ],
    ids=["429", "503", "408", "connection closed"],
)
def test_passing_trouble_is_retried(
    make_site: MakeSite, picture: Path, trouble: Answer | None, status: int | None
) -> None:
    site = make_site(once(trouble))
    reasoner = site.reasoner()
    chain = plan(reasoner, picture, PROMPT)
    assert chain.anchors == (14, 29, 41)
    assert len(site.server.asked) == 9
    failed = [entry for entry in reasoner.gateway.ledger.entries() if entry.outcome != "answered"]
    assert [(entry.status, entry.purpose) for entry in failed] == [(status, "decompose")]
    assert reasoner.gateway.ledger.totals().retries == 1


def test_retry_after_is_waited_for(make_site: MakeSite, picture: Path) -> None:
    site = make_site(once(Answer(status=429, headers={"Retry-After": "7"})))
    reasoner = site.reasoner()
    waits: list[float] = []
    reasoner.gateway._sleep = waits.append
    plan(reasoner, picture, PROMPT)
    assert waits == [7.0]


def test_a_wait_that_is_too_long_ends_with_a_sentence(make_site: MakeSite, picture: Path) -> None:
    site = make_site(once(Answer(status=429, headers={"Retry-After": "3600"})))
    with pytest.raises(CallFault, match="asks to wait 3600 s"):
        plan(site.reasoner(), picture, PROMPT)


@pytest.mark.parametrize("status", [400, 401, 403])
def test_what_cannot_get_better_is_not_retried(make_site: MakeSite, picture: Path, status: int) -> None:
    site = make_site(lambda asked: Answer(status=status))
    with pytest.raises(CallFault, match=f"answered {status}"):
        plan(site.reasoner(), picture, PROMPT)
    assert len(site.server.asked) == 1


@pytest.mark.parametrize("slow", [Answer(stall=30), Answer(text="{}", trickle=0.1)], ids=["stall", "trickle"])
def test_a_call_that_takes_too_long_is_given_up_and_tried_again(
    make_site: MakeSite, picture: Path, slow: Answer
) -> None:
    site = make_site(once(slow))
    reasoner = site.reasoner(policy=replace(QUICK, timeout=1.0))
    assert plan(reasoner, picture, PROMPT).anchors == (14, 29, 41)
    entries = reasoner.gateway.ledger.entries()
    lost = next(entry for entry in entries if entry.outcome == "unknown" and entry.purpose == "decompose")
    assert 0.9 < lost.seconds < 5
    assert lost.usd is not None
    assert lost.usd > 0, "a call that may have been charged stays in the books"


@pytest.mark.parametrize(
    "answer",
    ['{"deltas": [', "I think the ice melts.", '{"deltas": "none"}', '{"deltas": [{"fraction": 0.3}]}', ""],
    ids=["cut off", "prose", "wrong type", "field missing", "empty"],
)
def test_malformed_answers_go_back_with_the_reason(make_site: MakeSite, picture: Path, answer: str) -> None:
    site = make_site(once(Answer(text=answer)))
    assert plan(site.reasoner(), picture, PROMPT).anchors == (14, 29, 41)
    first, second = [asked for asked in site.server.asked if asked.act == "deltas"]
    assert melting.block(first, "problems") is None
    assert melting.block(second, "problems")
    assert melting.block(second, "previous_answer") == answer


def test_an_answer_cut_off_by_the_token_limit_goes_back(make_site: MakeSite, picture: Path) -> None:
    site = make_site(once(Answer(text=json.dumps({"deltas": melting.DELTAS}), finish="length")))
    plan(site.reasoner(), picture, PROMPT)
    second = [asked for asked in site.server.asked if asked.act == "deltas"][1]
    assert "cut off at 16384 tokens" in melting.block(second, "problems")[0]


def test_json_in_a_code_fence_is_read(make_site: MakeSite, picture: Path) -> None:
    fenced = "```json\n" + json.dumps({"deltas": melting.DELTAS}) + "\n```"
    site = make_site(once(Answer(text=fenced)))
    plan(site.reasoner(), picture, PROMPT)
    assert site.server.acts().count("deltas") == 1


def test_a_refusal_of_the_service_is_one_sentence(make_site: MakeSite, picture: Path) -> None:
    site = make_site(lambda asked: Answer(finish="refused"))
    with pytest.raises(CallFault, match="refused"):
        plan(site.reasoner(), picture, PROMPT)
    assert len(site.server.asked) == 1


def test_a_wrong_edit_is_corrected_after_its_violation_is_sent_back(
    make_site: MakeSite, picture: Path
) -> None:
    wrong = [*melting.EDITS[0], melting.edit("Update", o="table#4", key="surface", value="wet")]
    site = make_site(once(Answer(text=json.dumps({"edits": wrong})), "edits"))
    record = PlanRecord()
    chain = plan(site.reasoner(), picture, PROMPT, record=record)
    assert chain.anchors == (14, 29, 41)
    [violation] = record.attempts[0].violations
    assert violation.check == "coverage"
    second = [asked for asked in site.server.asked if asked.act == "edits"][1]
    assert f"(coverage) {violation.message}" in melting.block(second, "problems")
    assert "table#4" in melting.block(second, "previous_answer")
    assert chain.provenance["checks"][0]["violations"][0]["check"] == "coverage"


def test_three_rejections_and_a_regenerated_delta(make_site: MakeSite, picture: Path) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.act == "deltas" and melting.block(asked, "rejected_events") is None:
            odd = [melting.state("ice#1", "gone", "ice sublimates")]
            wrong = [melting.DELTAS[0], {"states": odd, "fraction": 0.3}]
            return Answer(text=json.dumps({"deltas": wrong}))
        if asked.act == "edits" and melting.block(asked, "delta")["states"][0]["state"] == "gone":
            return Answer(text=json.dumps({"edits": [melting.edit("Consume", o="tray#2")]}))
        return melting.respond(asked)

    site = make_site(respond)
    record = PlanRecord()
    chain = plan(site.reasoner(), picture, PROMPT, record=record)
    assert chain.anchors == (14, 29, 41)
    tried = [(a.event, a.generation, a.attempt, a.accepted) for a in record.attempts]
    refused = [(2, 0, n, False) for n in (1, 2, 3, 4)]
    assert tried == [(1, 0, 1, True), *refused, (2, 1, 1, True), (3, 0, 1, True)]
    again = [asked for asked in site.server.asked if asked.act == "deltas"][1]
    assert melting.block(again, "events_so_far") == [event.delta.to_json() for event in chain.events[:1]]
    assert melting.block(again, "rejected_events")[0]["states"][0]["state"] == "gone"
    assert any("(coverage)" in reason for reason in melting.block(again, "reasons"))


def test_a_delta_that_stays_wrong_ends_planning_with_the_violations(
    gemini_site: MakeSite, picture: Path
) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.act == "edits":
            return Answer(text=json.dumps({"edits": [melting.edit("Consume", o="table#4")]}))
        if (rejected := melting.block(asked, "rejected_events")) and melting.block(asked, "attempt") == 2:
            new = [melting.state("ice#1", "softer" * len(rejected), "ice melts")]
            return Answer(text=json.dumps({"deltas": [{"states": new, "fraction": 0.5}]}))
        return melting.respond(asked)

    site = gemini_site(respond)
    record = PlanRecord()
    with pytest.raises(PlanningFailed, match=r"after 2 regenerations.*coverage.*table#4"):
        plan(site.reasoner(), picture, PROMPT, record=record)
    assert site.server.acts().count("edits") == 12, (
        "three deltas, four attempts each, every one a new question"
    )
    repeated = [a for a in site.server.asked if a.act == "deltas" and melting.block(a, "attempt")]
    assert melting.block(repeated[-1], "problems") == [
        "the first event was rejected before: describe it in another way"
    ]
    assert record.graph is not None


def test_a_budget_stops_the_next_call_and_more_budget_continues(make_site: MakeSite, picture: Path) -> None:
    site = make_site(melting.respond)
    reasoner = site.reasoner(budget=0.0555)
    with pytest.raises(BudgetExceeded, match=r"budget of 0.0555 USD stops before the next call"):
        plan(reasoner, picture, PROMPT)
    made = len(site.server.asked)
    spent = reasoner.gateway.ledger.totals()
    assert 0 < made < 8
    assert spent.calls == made
    assert spent.usd == pytest.approx(made * (1000 * 0.5 + 200 * 3.0) / 1e6)
    chain = plan(site.reasoner(budget=1.0), picture, PROMPT)
    assert chain.anchors == (14, 29, 41)
    assert len(site.server.asked) == 8, "what was stored is not asked again"


def test_calls_side_by_side_wait_for_each_other_rather_than_stop_at_the_budget(
    gemini_site: MakeSite, picture: Path
) -> None:
    """One worst case fits beside what was spent, three at once do not; together they cost far less."""
    site = gemini_site(lambda asked: replace(melting.respond(asked), stall=0.05))
    reasoner = site.reasoner(budget=0.07)
    assert plan(reasoner, picture, PROMPT).anchors == (14, 29, 41)
    assert site.server.peak == 1
    assert reasoner.gateway.ledger.totals().usd < 0.01


def test_a_replay_without_network_is_the_identical_plan(make_site: MakeSite, picture: Path) -> None:
    wrong = [*melting.EDITS[0], melting.edit("Update", o="table#4", key="surface", value="wet")]
    site = make_site(once(Answer(text=json.dumps({"edits": wrong})), "edits"))
    reasoner = site.reasoner()
    live = plan(reasoner, picture, PROMPT)
    asked = len(site.server.asked)
    site.server.__exit__()
    offline = Gateway(OfflineClient(reasoner.gateway.client.provider), store=AnswerStore(site.folder))
    replayed = plan(VLMReasoner(offline, MODEL), picture, PROMPT)
    assert json.dumps(replayed.to_json()) == json.dumps(live.to_json())
    assert EventChain.from_json(replayed.to_json()) == live
    assert len(site.server.asked) == asked == 9
    assert offline.ledger.entries() == ()
    with pytest.raises(CallFault, match="No stored answer"):
        plan(VLMReasoner(offline, MODEL), picture, "another prompt")


def test_the_order_in_which_answers_come_does_not_matter(gemini_site: MakeSite, picture: Path) -> None:
    def respond(asked: Asked) -> Answer:
        answer = melting.respond(asked)
        late = 0.15 * (2 - melting.keyframe_of(asked)) if asked.act == "instruction" else 0
        return replace(answer, stall=late)

    site = gemini_site(respond)
    slow_first = plan(site.reasoner(), picture, PROMPT)
    assert site.server.peak >= 2
    site.folder = site.folder.with_name("other")
    site.server.respond = melting.respond
    assert json.dumps(plan(site.reasoner(), picture, PROMPT).to_json()) == json.dumps(slow_first.to_json())


def test_no_more_calls_at_once_than_allowed(gemini_site: MakeSite, picture: Path) -> None:
    site = gemini_site(lambda asked: replace(melting.respond(asked), stall=0.05))
    plan(site.reasoner(policy=replace(QUICK, at_once=2)), picture, PROMPT)
    assert site.server.peak == 2

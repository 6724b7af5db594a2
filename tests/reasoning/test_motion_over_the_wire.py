"""A model is asked how things move in the same question as for the edits, and its answer is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from physplan.graph import motion
from physplan.reasoning import plan
from physplan.reasoning.record import PlanRecord
from physplan_models.reasoning.vlm import MotionReasoner
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked
from physplan_testing.melting import PROMPT
from physplan_testing.sites import MakeSite

ICE = {"o": "ice#1", "law": "shrink", "rise": 0, "angle": 0, "to": ""}
MOTION = [[ICE], [ICE, {**ICE, "o": "puddle#3", "law": "spread"}], [{**ICE, "o": "puddle#3", "law": "grow"}]]


def moving(asked: Asked, motions: list[list[dict[str, Any]]]) -> Answer:
    if asked.act != "edits":
        return melting.respond(asked)
    event = melting.event_of(asked)
    return Answer(text=json.dumps({"edits": melting.EDITS[event], "motion": motions[event]}))


def test_the_plan_holds_the_laws_that_the_model_gave(make_site: MakeSite, picture: Path) -> None:
    site = make_site(lambda asked: moving(asked, MOTION))
    chain = plan(site.reasoner(MotionReasoner), picture, PROMPT)
    assert chain.events[0].motion == (motion("ice#1", "shrink"),)
    assert chain.events[1].motion == (motion("ice#1", "shrink"), motion("puddle#3", "spread"))
    assert chain.provenance["motion"] == 1
    asked = next(asked for asked in site.server.asked if asked.act == "edits")
    assert "projectile" in asked.system
    assert "motion" in asked.schema["properties"]


def test_a_motion_that_contradicts_the_edits_is_sent_back(make_site: MakeSite, picture: Path) -> None:
    wrong = [[{**ICE, "law": "swing"}], *MOTION[1:]]
    left = [wrong]
    record = PlanRecord()
    site = make_site(lambda asked: moving(asked, left.pop() if asked.act == "edits" and left else MOTION))
    chain = plan(site.reasoner(MotionReasoner), picture, PROMPT, record=record)
    assert "cannot swing" in record.attempts[0].violations[0].message
    assert chain.events[0].motion == (motion("ice#1", "shrink"),)
    second = [asked for asked in site.server.asked if asked.act == "edits"][1]
    assert "cannot swing" in second.text


def test_the_papers_questions_are_unchanged(make_site: MakeSite, picture: Path) -> None:
    site = make_site(melting.respond)
    chain = plan(site.reasoner(), picture, PROMPT)
    asked = next(asked for asked in site.server.asked if asked.act == "edits")
    assert "motion" not in asked.schema["properties"]
    assert "How things move" not in asked.system
    assert all(event.motion == () for event in chain.events)

"""Deltas: rules without numbers, known objects, new objects with a source, fractions in (0, 1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.reasoning import PlanningFailed, plan
from physplan.reasoning.rules import quantity_in
from physplan_testing import melting
from physplan_testing.loopback import Answer, Asked
from physplan_testing.melting import PROMPT, state
from physplan_testing.sites import MakeSite


@pytest.mark.parametrize(
    ("rule", "quantity"),
    [
        ("falls at 9.8 m/s", "9.8"),
        ("water boils at 100°C", "100°C"),
        ("melts above zero degrees, at 0 C", "0"),
        ("it cools by ten degrees", "ten degrees"),
        ("the volume grows by twenty-five percent", "twenty-five percent"),
        ("it shrinks by half a metre", "half a metre"),
        ("energy grows with v²", "v²"),
        ("about ½ of it evaporates", "½"),
        ("٣ pieces break off", "٣"),
    ],
)
def test_quantities_are_found(rule: str, quantity: str) -> None:
    assert quantity_in(rule) == quantity


@pytest.mark.parametrize(
    "rule",
    [
        "ice above its melting point turns into water",
        "liquid from ice#1 flows down onto tray#2",
        "the two bodies in contact share their heat",
        "H2O expands when it freezes, and CO2 sublimates",
        "one object pushes the other",
        "a falling body speeds up",
        "light objects float",
        "ten-sided dice roll",
    ],
)
def test_qualitative_rules_pass(rule: str) -> None:
    assert quantity_in(rule) is None


def with_deltas(first: list[dict]):
    """These deltas at first, the right ones when they are sent back."""

    def respond(asked: Asked) -> Answer:
        if asked.act == "deltas" and melting.block(asked, "attempt") is None:
            return Answer(text=json.dumps({"deltas": first}))
        return melting.respond(asked)

    return respond


FINE = state("ice#1", "wet", "ice melts")


@pytest.mark.parametrize(
    ("deltas", "reason"),
    [
        ([{"states": [state("ice#1", "lower", "falls at 9.8 m/s")], "fraction": 0.3}], "'9.8'"),
        ([{"states": [state("cup#9", "wet", "water wets")], "fraction": 0.3}], "no such object"),
        ([{"states": [state("ice#1", "x", "y", "tray#2", "ice#1")], "fraction": 0.3}], "tray#2 is taken"),
        ([{"states": [state("ice#1", "x", "y", "pool#7", "sea#8")], "fraction": 0.3}], "comes from sea#8"),
        ([{"states": [state("ice#1", "x", "y", "the pool", "ice#1")], "fraction": 0.3}], "<category>#<n>"),
        ([{"states": [FINE], "fraction": 1.0}], "between 0 and 1"),
        ([{"states": [FINE], "fraction": 0}], "between 0 and 1"),
        ([{"states": [FINE], "fraction": -0.2}], "between 0 and 1"),
        ([{"states": [FINE], "fraction": "half"}], "must be a number"),
        ([], "at least one event"),
        ([{"states": [], "fraction": 0.3}], "at least one object"),
        ([{"states": [FINE], "fraction": 0.1}] * 8, "limit is 7"),
    ],
)
def test_a_delta_that_breaks_a_rule_comes_back_as_a_problem(
    gemini_site: MakeSite, picture: Path, deltas: list[dict], reason: str
) -> None:
    site = gemini_site(with_deltas(deltas))
    assert plan(site.reasoner(), picture, PROMPT).anchors == (14, 29, 41)
    second = [asked for asked in site.server.asked if asked.act == "deltas"][1]
    assert any(reason in problem for problem in melting.block(second, "problems"))


def test_fractions_that_sum_to_one_or_more_are_rescaled(gemini_site: MakeSite, picture: Path) -> None:
    long = [{**delta, "fraction": 0.8} for delta in melting.DELTAS]
    site = gemini_site(with_deltas(long))
    chain = plan(site.reasoner(), picture, PROMPT)
    assert chain.anchors == (14, 29, 43)
    assert site.server.acts().count("deltas") == 1


def test_too_few_frames_for_the_events_go_back_with_the_number_that_fits(
    gemini_site: MakeSite, picture: Path
) -> None:
    site = gemini_site(melting.respond)
    with pytest.raises(PlanningFailed, match="at most 2"):
        plan(site.reasoner(), picture, PROMPT, num_frames=3)
    assert "One to 2 events" in site.server.asked[1].system
    assert site.server.acts().count("deltas") == 4


def test_a_scene_without_objects_is_sent_back(gemini_site: MakeSite, picture: Path) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.act == "nodes" and melting.block(asked, "attempt") is None:
            return Answer(text='{"nodes": [], "edges": []}')
        return melting.respond(asked)

    site = gemini_site(respond)
    plan(site.reasoner(), picture, PROMPT)
    assert "no objects" in melting.block(site.server.asked[1], "problems")[0]

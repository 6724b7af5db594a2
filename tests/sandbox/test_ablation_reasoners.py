"""Ablations (i) and (ii) as methods of a run in the small world."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan.graph import Consume, EventChain, Spawn
from physplan.methods import find
from physplan.methods.ablations import PLAN_ABLATIONS
from physplan.pipeline import PhysPlan
from physplan.presets import PRESETS, recipe
from physplan.reasoning import make_reasoner, plan
from physplan.reasoning.registry import REASONERS
from physplan_sandbox.samples import first_frame, sample
from physplan_sandbox.world.render import FRAMES

pytest.importorskip("cv2")

QUICK = {"video.num_inference_steps": 2, "guided_sketch.schedule": {"repeats": [1], "travel": [1, 1]}}


@pytest.mark.parametrize("method", PLAN_ABLATIONS)
@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "photo"])  # verbs ask no model
def test_every_preset_has_the_planners_of_both(preset: str, method: str) -> None:
    assert find(method).reasoner(recipe(preset)["reasoner"]["name"], REASONERS) in REASONERS


@pytest.mark.parametrize("method", PLAN_ABLATIONS)
def test_a_run_in_the_sandbox_follows_such_a_plan(method: str, tmp_path: Path) -> None:
    shown = sample("ice-tray")
    pp = PhysPlan.from_preset("sandbox", **QUICK)
    result = pp.generate(first_frame(shown), shown.prompt, method=method, output_dir=tmp_path / "run")
    assert result.plan is not None
    assert result.plan.provenance["reasoner"] == f"sandbox-{PLAN_ABLATIONS[method][0]}"
    assert not any(event.motion for event in result.plan.events)
    assert (tmp_path / "run" / "video.mp4").exists()


def test_the_words_alone_give_another_plan_than_the_picture() -> None:
    shown = sample("drop-table")
    careless, careful = (
        plan(make_reasoner(name), first_frame(shown), shown.prompt, FRAMES)
        for name in ("sandbox-prompt-derived", "sandbox")
    )
    assert careless.events[-1].net_edits != careful.events[-1].net_edits


def test_what_a_drawn_state_overlooks_and_a_later_one_shows_stays_in_the_plan() -> None:
    shown = sample("dominoes-row")
    chain = plan(make_reasoner("sandbox-full-graph"), first_frame(shown), shown.prompt, FRAMES)
    assert EventChain.from_json(chain.to_json()) == chain
    gone = {edit.o for event in chain.events for edit in event.edits if isinstance(edit, Consume)}
    assert not gone & {edit.id for event in chain.events for edit in event.edits if isinstance(edit, Spawn)}


def test_a_plan_without_any_change_is_refused() -> None:
    shown = sample("roll-edge")
    with pytest.raises(PhysPlanError, match="nothing changes in this picture"):
        plan(make_reasoner("sandbox-prompt-derived"), first_frame(shown), shown.prompt, FRAMES)

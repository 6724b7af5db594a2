"""Prompt and pixels to a verified plan; what the sandbox does not know, it says in one sentence."""

from __future__ import annotations

import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.reasoning import PlanRecord, make_reasoner, plan
from physplan_sandbox.reasoner import NotInTheSandbox, SandboxReasoner
from physplan_sandbox.truth import true_chain
from physplan_sandbox.world.phenomena import one_of_each, scene
from physplan_sandbox.world.render import FRAMES
from physplan_sandbox.world.scene import Scene
from physplan_testing.world_oracle import Oracle


def planned(world: Scene, prompt: str | None = None, frames: int = FRAMES) -> EventChain:
    oracle = Oracle()
    picture = Image.fromarray(oracle.show(world).frames[0])
    return plan(SandboxReasoner(segmenter=oracle, depth=oracle), picture, prompt or world.prompt, frames)


def test_with_perfect_masks_the_plan_is_the_true_chain() -> None:
    for world in one_of_each("validation", 5):
        chain, truth = planned(world), true_chain(world)
        chain.verify()
        assert [e.edits for e in chain.events] == [e.edits for e in truth.events], world.name
        assert chain.anchors == truth.anchors


def test_every_answer_is_accepted_at_the_first_attempt_with_its_own_instruction() -> None:
    for world in one_of_each("validation", 5):
        oracle = Oracle()
        record = PlanRecord()
        picture = Image.fromarray(oracle.show(world).frames[0])
        chain = plan(
            SandboxReasoner(segmenter=oracle, depth=oracle), picture, world.prompt, FRAMES, record=record
        )
        assert len(record.attempts) == len(chain.events), world.name
        assert set(chain.provenance["instructions"]) == {"sandbox"}, world.name


def test_the_same_words_give_another_plan_in_another_scene() -> None:
    wanted = {"tray": "puddle", "cloth": "", "glass": ""}
    plans = {
        v: planned(scene("validation", 1, phenomenon="ice", variant=v), "the ice cube melts") for v in wanted
    }
    spawned = {
        v: {n.category for n in p.events[-1].graph.nodes} - {n.category for n in p.graph.nodes}
        for v, p in plans.items()
    }
    assert spawned == {"tray": {"puddle"}, "cloth": set(), "glass": set()}
    assert any(e.o.startswith("cloth") for e in plans["cloth"].events[-1].edits if e.op == "Update")
    assert any(e.o.startswith("water") for e in plans["glass"].events[-1].edits if e.op == "Update")


def test_other_numbers_of_frames_move_the_anchors_only() -> None:
    world = scene("validation", 8)
    short, long = planned(world).anchors, planned(world, frames=2 * FRAMES - 1).anchors
    assert all(abs(b - 2 * a) <= 1 for a, b in zip(short, long, strict=True))


@pytest.mark.parametrize(
    ("prompt", "nearest"),
    [
        ("a dog barks", "a ball is let go above"),
        ("the ball does not drop", "ball"),
        ("the tap is turned off", "a tap"),
    ],
)
def test_an_unknown_prompt_is_answered_with_the_nearest_that_is_known(prompt: str, nearest: str) -> None:
    with pytest.raises(NotInTheSandbox, match=f"it knows how .*{nearest}"):
        planned(scene("validation", 0), prompt)


def test_a_known_prompt_about_another_scene_says_what_it_needs() -> None:
    with pytest.raises(NotInTheSandbox, match=r"needs tray support ice.*what it sees is table, ball, crate"):
        planned(scene("validation", 0, phenomenon="drop", variant="crate"), "the ice cube melts")


def test_it_is_the_default_reasoner_by_name() -> None:
    assert isinstance(make_reasoner("sandbox"), SandboxReasoner)
    with pytest.raises(PhysPlanError, match="does not know"):
        plan(make_reasoner("sandbox"), Image.new("RGB", (96, 96)), "nothing of the kind", 25)

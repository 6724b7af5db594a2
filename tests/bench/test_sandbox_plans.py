"""Ablations (i) and (ii): plans from the words alone, and from whole graphs written anew."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.graph import Consume, Spawn
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.making import make_video
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox import components
from physplan_sandbox.plan_ablations import full_graph_plan, prompt_only_plan
from physplan_sandbox.truth import true_chain, true_graph
from physplan_sandbox.world.phenomena import scene

pytest.importorskip("cv2")


def scene_of(phenomenon, variant):
    return next(
        shown
        for i in range(400)
        if (shown := scene("validation", i)).phenomenon.name == phenomenon and shown.variant == variant
    )


def setting(shown):
    return PreparedScene(scene=shown, config=SandboxStudy.of_preset().config)


def test_the_words_alone_give_the_same_plan_in_every_scene():
    """A ball is let go above a crate, or above the table: only the picture tells them apart."""
    crate, table = (scene_of("drop", variant) for variant in ("crate", "table"))
    right = prompt_only_plan(crate.prompt, true_graph(crate), 25)
    assert [event.net_edits for event in right.events] == [e.net_edits for e in true_chain(crate).events]
    wrong = prompt_only_plan(table.prompt, true_graph(table), 25)
    assert [event.net_edits for event in wrong.events] != [e.net_edits for e in true_chain(table).events]


def test_every_plan_from_words_is_a_state_per_event_of_objects_that_are_there():
    for index in range(0, 60, 3):
        shown = scene("validation", index)
        chain = prompt_only_plan(shown.prompt, true_graph(shown), 25)
        for event in chain.events:
            named = {id for edit in event.net_edits for id in edit.targets()}
            spawned = {edit.id for edit in event.net_edits if isinstance(edit, Spawn)}
            assert named <= {*chain.graph.ids, *spawned}
        assert list(chain.anchors) == sorted(set(chain.anchors))


def test_a_graph_read_again_from_the_same_picture_has_no_differences():
    here = setting(scene_of("ice", "tray"))
    perception = {"segmenter": components.load_segmenter(), "depth": components.load_depth()}
    again = full_graph_plan(here.chain, here.picture, [here.picture] * len(here.chain.events), **perception)
    assert all(event.net_edits == () for event in again.events)


def test_an_object_that_was_overlooked_once_may_come_back():
    here = setting(scene_of("dominoes", "row"))
    perception = {"segmenter": components.load_segmenter(), "depth": components.load_depth()}
    assert len(here.chain.events) > 1
    empty = Image.new("RGB", here.picture.size, (128, 128, 128))
    again = full_graph_plan(here.chain, here.picture, [empty, here.picture], **perception)
    assert {type(edit) for edit in again.events[0].net_edits} >= {Consume}
    assert again.events[1].net_edits == ()
    assert {type(edit) for edit in again.events[1].edits} >= {Spawn}


def test_a_graph_read_from_the_drawn_state_says_what_changed_and_more():
    here = setting(scene_of("ice", "tray"))
    chain, evidence = here.drawn(1, "reparsed")
    last = chain.events[-1].net_edits
    assert {type(edit) for edit in last} & {Spawn, Consume}
    assert all(edit.source in chain.graph for edit in last if isinstance(edit, Spawn))
    assert len(evidence.keyframes) == len(chain.events) == len(here.chain.events)


@pytest.mark.parametrize("name", ["guided_sketch.prompt_derived", "guided_sketch.full_graph"])
def test_a_video_is_made_from_such_a_plan(name):
    torch.set_num_threads(1)
    quick = {"video.num_inference_steps": 2, "guided_sketch.schedule": {"repeats": [1], "travel": [1, 1]}}
    here = PreparedScene(scene=scene_of("ice", "cloth"), config=SandboxStudy.of_preset(quick).config)
    video = make_video(here, Arm(name=name), seed=0)
    assert video.shape == (33, 96, 96, 3)
    assert np.abs(video[0].astype(int) - np.asarray(here.picture)).mean() < 12

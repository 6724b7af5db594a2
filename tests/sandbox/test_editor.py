"""The editor draws each state near the truth, touches nothing else, and errs by documented levels."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import Consume, Edge, EventChain, Link, Node, PhysicalDelta, StateChange, StateGraph
from physplan.keyframes.protocol import EditRequest
from physplan.perception import KeyframeEvidence, first_frame_evidence, look
from physplan.sketch.alignment import aligned
from physplan_sandbox.editor import SandboxEditor, TruthEditor, apply_errors
from physplan_sandbox.truth import true_chain, uninvolved
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.render import Clip
from physplan_sandbox.world.scene import Scene
from physplan_testing.world_oracle import Oracle, tensor

KINDS = [(name, variant) for name, p in PHENOMENA.items() for variant in p.variants]


@cache
def setting(name: str, variant: str) -> tuple[Scene, EventChain, Clip, KeyframeEvidence]:
    world = scene("validation", 4, phenomenon=name, variant=variant)
    oracle = Oracle()
    clip = oracle.show(world)
    chain = true_chain(world)
    seen = look(chain.graph, tensor(clip.frames[0]), segmenter=oracle, depth=oracle)
    first = first_frame_evidence(chain.graph, seen)
    return world, chain, clip, first


def request(name: str, variant: str, event: int = 0, seed: int = 0) -> EditRequest:
    _, chain, clip, first = setting(name, variant)
    image = Image.fromarray(clip.frames[0])
    return EditRequest(image=image, instruction="", event=event, chain=chain, first=first, seed=seed)


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=np.float32) / 255


@pytest.mark.parametrize(("name", "variant"), KINDS)
def test_keyframes_are_near_the_truth_but_not_equal_to_it(name: str, variant: str) -> None:
    _, chain, clip, _ = setting(name, variant)
    for index, event in enumerate(chain.events):
        drawn = pixels(SandboxEditor().edit(request(name, variant, index)))
        truth, start = clip.frames[event.anchor] / 255.0, clip.frames[0] / 255.0
        error, still = np.abs(drawn - truth).mean(), np.abs(start - truth).mean()
        assert 0 < error < 0.75 * still, (index, error, still)


@pytest.mark.parametrize(("name", "variant"), KINDS)
def test_what_no_edit_names_looks_as_before(name: str, variant: str) -> None:
    _, chain, clip, first = setting(name, variant)
    for index in range(len(chain.events)):
        drawn = pixels(SandboxEditor().edit(request(name, variant, index)))
        difference = np.abs(drawn - clip.frames[0] / 255.0).mean(-1)
        for id in uninvolved(chain):
            if id in first.masks and not id.startswith("table"):
                # Something may have come to stand in front of a part of it.
                assert np.median(difference[first.masks[id].numpy()]) < 0.03, (index, id)


def test_what_is_behind_something_stays_hidden() -> None:
    """The ball that stopped behind the carton is neither where it was nor before the carton."""
    _, _, clip, first = setting("behind", "stopped")
    drawn = pixels(SandboxEditor().edit(request("behind", "stopped", 1)))
    carton, ball = (
        next(mask.numpy() for id, mask in first.masks.items() if id.startswith(category))
        for category in ("carton", "ball")
    )
    assert np.abs(drawn - clip.frames[0] / 255.0)[carton].mean() < 0.01
    assert np.abs(drawn - clip.frames[-1] / 255.0)[ball].mean() < 0.05


def test_truth_editor_gives_the_simulated_frame() -> None:
    world, chain, clip, _ = setting("ice", "tray")
    drawn = np.asarray(TruthEditor(world).edit(request("ice", "tray", 1)))
    assert (drawn == clip.frames[chain.events[1].anchor]).all()


@pytest.mark.parametrize("kind", [("drop", "crate"), ("ice", "glass"), ("lamp", "left")])
def test_errors_grow_with_the_level_and_repeat_with_the_seed(kind: tuple[str, str]) -> None:
    _, chain, clip, _ = setting(*kind)
    truth = clip.frames[chain.events[0].anchor] / 255.0
    drawn = {level: pixels(SandboxEditor(level=level).edit(request(*kind, seed=3))) for level in (1, 2, 3)}
    errors = [np.abs(drawn[level] - truth).mean() for level in (1, 2, 3)]
    assert errors[0] < errors[1] < errors[2] < 0.2
    assert (pixels(SandboxEditor(level=3).edit(request(*kind, seed=3))) == drawn[3]).all()
    assert (pixels(SandboxEditor(level=3).edit(request(*kind, seed=4))) != drawn[3]).any()


def test_bad_requests_are_refused_in_a_sentence() -> None:
    with pytest.raises(PhysPlanError, match="levels 1 to 4"):
        SandboxEditor(level=0)
    _, chain, clip, first = setting("drop", "crate")
    image = Image.fromarray(clip.frames[0])
    with pytest.raises(PhysPlanError, match="pass the evidence"):
        SandboxEditor().edit(EditRequest(image=image, instruction="", event=0, chain=chain))
    big = image.resize((128, 128))
    with pytest.raises(PhysPlanError, match="not of the picture's size"):
        SandboxEditor().edit(EditRequest(image=big, instruction="", event=0, chain=chain, first=first))


def photograph() -> tuple[np.ndarray, dict[str, torch.Tensor]]:
    """240 x 320 pixels of noise and gradients: a dark ball in the air over a pale table."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[0:240, 0:320]
    picture = np.stack([0.3 + rows / 480, 0.4 + columns / 900, 0.5 + 0 * rows], axis=-1)
    picture[rows >= 150] = (0.7, 0.6, 0.5)
    picture += rng.normal(0, 0.02, picture.shape)
    ball = np.hypot(rows - 60, columns - 160) < 25
    picture[ball] = (0.15, 0.1, 0.4)
    masks = {"table#1": torch.from_numpy((rows >= 150) & ~ball), "ball#2": torch.from_numpy(ball)}
    return np.clip(picture, 0, 1), masks


def test_on_a_photograph_with_masks_it_moves_and_removes() -> None:
    picture, masks = photograph()
    table, ball = Node("table#1", "table"), Node("ball#2", "ball")
    graph = StateGraph([table, ball], [Edge("ball#2", "above", "table#1")])
    depth = torch.from_numpy(np.clip((np.mgrid[0:240, 0:320][0] - 150) / 90, 0, 1)).float()
    depth[masks["ball#2"]] = 0.5
    image = Image.fromarray((picture * 255).astype(np.uint8))
    first = KeyframeEvidence(image=torch.from_numpy(picture).permute(2, 0, 1), masks=masks, depth=depth)
    deltas = [PhysicalDelta((StateChange("ball#2", "changed", "it falls"),), f) for f in (0.4, 0.3)]
    edits = [[Link("table#1", "support", "ball#2")], [Consume("ball#2")]]
    chain = EventChain.build(prompt="it falls", num_frames=25, graph=graph, deltas=deltas, edits=edits)
    fallen, gone = (
        pixels(
            SandboxEditor().edit(EditRequest(image=image, instruction="", event=e, chain=chain, first=first))
        )
        for e in (0, 1)
    )
    dark = [(frame.sum(-1) < 1.0) for frame in (fallen, gone)]
    assert dark[0][:100].sum() < 50  # gone from where it was, to within a seam
    assert 0.7 < dark[0][150:].sum() / masks["ball#2"].sum() < 1.3  # and down on the table
    assert dark[1].sum() < 50


def test_no_shift_and_no_tone_scale_undoes_the_errors_of_level_4() -> None:
    """What is left after alignment: at level 4 at least twice as much as at level 2."""
    rng = np.random.default_rng(1)
    image = np.kron(rng.random((12, 12, 3)), np.ones((8, 8, 1))).astype(np.float32)
    first, everywhere = torch.from_numpy(image).permute(2, 0, 1), torch.ones(96, 96, dtype=torch.bool)
    left = {}
    for level in (2, 4):
        drawn = torch.from_numpy(apply_errors(image, level, seed=2)).permute(2, 0, 1)
        frame = KeyframeEvidence(image=drawn, masks={}, depth=torch.zeros(96, 96))
        found = aligned(first, frame, everywhere).image
        left[level] = float((found - first).abs().mean())
    assert left[4] > 2 * left[2]

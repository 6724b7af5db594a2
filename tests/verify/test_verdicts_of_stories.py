"""Two stories whose verdicts were wrong: the true videos hold, what is smeared does not."""

from __future__ import annotations

import json
from functools import cache

import pytest
import torch
from PIL import Image
from scipy import ndimage
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.pipeline import PhysPlan, stages
from physplan.verify import Verdict, verify_video
from physplan.verify.verdict_json import read_verdict
from physplan_sandbox.samples import sample
from physplan_sandbox.truth import true_chain

HOLDS = "The video shows what was planned, and the rest stays as it was."


@cache
def pp() -> PhysPlan:
    return PhysPlan.from_preset("sandbox")


@cache
def story(name: str) -> tuple[EventChain, Evidence, Tensor]:
    """The true chain and video; its states, seen by the sandbox's own segmenter, are the keyframes."""
    shown = sample(name)
    pictures, chain = shown.render().frames, true_chain(shown)
    keyframes = [Image.fromarray(pictures[anchor]) for anchor in chain.anchors]
    first = Image.fromarray(pictures[0])
    drawn = stages.make_keyframes(pp().config, pp().backends, first, chain, given=keyframes)
    video = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
    return chain, stages.make_evidence(chain, drawn.sightings), video


def judged(name: str, video: Tensor) -> Verdict:
    chain, evidence, _ = story(name)
    return verify_video(chain, video, perception=pp().backends, evidence=evidence)


@pytest.mark.parametrize("name", ["dominoes-row", "seesaw-crate"])
def test_the_true_story_holds_and_no_line_speaks_against_it(name: str) -> None:
    found = judged(name, story(name)[2])
    assert found.verdict == "holds"
    assert found.sentence() == HOLDS
    assert all(edit.verdict == "holds" for event in found.events for edit in event.edits)


@pytest.mark.parametrize(("name", "width"), [("dominoes-row", 2.0), ("seesaw-crate", 4.0)])
def test_what_changed_and_smears_is_not_certain_and_the_reason_is_said(name: str, width: float) -> None:
    """In the right place and colours, without edges: debris. Read back, the verdict says the same."""
    video = story(name)[2].clone()
    debris = ndimage.gaussian_filter(video[8:].numpy(), (0, 0, width, width))
    changed = (video - video[:1]).abs().amax((0, 1)) > 0.1
    video[8:, :, changed] = torch.from_numpy(debris)[:, :, changed]
    found = judged(name, video)
    assert found.verdict == "doubtful"
    assert "meared: what changed, or what it left, has lost its edges" in found.sentence()
    again = read_verdict(json.loads(json.dumps(found.to_json())))
    assert again.sentence() == found.sentence()


def test_a_video_that_is_softer_everywhere_is_not_smeared() -> None:
    """As a smaller file or another codec makes it."""
    video = story("dominoes-row")[2]
    half = torch.nn.functional.interpolate(video, scale_factor=0.5, mode="bilinear", antialias=True)
    assert judged("dominoes-row", half).verdict == "holds"


def test_a_crate_is_no_bystander_where_the_ball_lies_in_it_and_is_one_beside_it() -> None:
    _, evidence, video = story("seesaw-crate")
    crate = next(id for id in evidence.first.masks if id.startswith("crate"))
    within = {one.object: one for one in judged("seesaw-crate", video).bystanders}
    assert within[crate].kept
    repainted = video.clone()
    repainted[-8:, :, evidence.first.masks[crate]] = 0.9
    found = judged("seesaw-crate", repainted)
    assert crate in [one.object for one in found.bystanders if not one.kept]
    assert f"hanged though it should not: {crate}" in found.sentence()

"""The check of a finished video: every net edit of every event looked for, bystanders, and smoothness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import (
    DepthEstimator,
    Evidence,
    FeatureEncoder,
    KeyframeEvidence,
    Segmenter,
    first_frame_evidence,
    look,
)
from physplan.verify.agreement import soften
from physplan.verify.by_keyframes import by_keyframes
from physplan.verify.by_sight import by_sight
from physplan.verify.bystanders import find_bystanders
from physplan.verify.limits import Limits, answer
from physplan.verify.smoothness import MotionScore, smoothness, video_features
from physplan.verify.verdict import BystanderFound, EventFound, Verdict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Perception:
    segmenter: Segmenter
    depth: DepthEstimator
    encoder: FeatureEncoder


class Eyes(Protocol):
    """Each is asked for when it is needed: with keyframes nothing is segmented."""

    @property
    def segmenter(self) -> Segmenter: ...
    @property
    def depth(self) -> DepthEstimator: ...
    @property
    def encoder(self) -> FeatureEncoder: ...


@torch.no_grad()
def verify_video(
    chain: EventChain,
    frames: Tensor,
    *,
    perception: Eyes,
    first_frame: Tensor | None = None,
    evidence: Evidence | None = None,
    limits: Limits | None = None,
    scores: Sequence[MotionScore] = (),
) -> Verdict:
    """Judge frames [F, 3, H, W] by the plan. With `evidence` edits are held against the keyframes, without it
    they are looked for by presence, size, look and relations alone, from `first_frame` [3, H, W]."""
    limits = limits or Limits()
    if evidence is None and first_frame is None:
        raise PhysPlanError("A video is judged from its first frame: give the picture, or the evidence.")
    if evidence is None:
        assert first_frame is not None
        seen = look(chain.graph, first_frame, segmenter=perception.segmenter, depth=perception.depth)
        first = first_frame_evidence(chain.graph, seen)
    else:
        first = evidence.first
    frames = _fitted(frames, chain.num_frames, first)
    softened = soften(frames)
    kept = find_bystanders(chain, first, softened, limits)
    events = (
        by_keyframes(chain, evidence, softened, limits)
        if evidence is not None
        else by_sight(chain, first, frames, perception.segmenter, perception.depth, limits)
    )
    score = _score(events, kept, limits)
    found = answer(score, limits.holds, limits.fails)
    if found == "holds" and all(edit.value is None for edit in events[-1].edits):
        found = "doubtful"  # nothing that should be there was there to be compared
    motion = smoothness(video_features(frames, perception.encoder)).to_json()
    motion |= {back_end.name: back_end(frames) for back_end in scores}
    return Verdict(
        verdict=found,
        score=score,
        compared_with="plan" if evidence is None else "keyframes",
        events=events,
        bystanders=kept,
        motion=motion,
    )


def _fitted(frames: Tensor, count: int, first: KeyframeEvidence) -> Tensor:
    """Any video at the plan's number of frames and the picture's size: the nearest frame of each time."""
    if frames.ndim != 4 or frames.shape[1] != 3 or len(frames) < 2:
        raise PhysPlanError(
            f"A video to judge has at least two frames [F, 3, H, W], not {list(frames.shape)}."
        )
    if len(frames) != count:
        frames = frames[torch.linspace(0, len(frames) - 1, count).round().long()]
    size = (first.depth.shape[-2], first.depth.shape[-1])
    if tuple(frames.shape[-2:]) == size:
        return frames
    return F.interpolate(frames, size, mode="bilinear", antialias=True, align_corners=False)


def _score(events: Sequence[EventFound], kept: Sequence[BystanderFound], limits: Limits) -> float:
    """The last state as a whole and its worst edit, less what strayed and what was not to change."""
    last = events[-1]
    values = [edit.value for edit in last.edits if edit.value is not None]
    worst = min(values, default=last.value)
    changed = max((found.change for found in kept), default=0.0) / limits.kept
    return (
        limits.whole * last.value
        + limits.worst * worst
        - limits.stray * min(last.stray, 1.0)
        - limits.bystanders * min(changed, 3.0)
    )

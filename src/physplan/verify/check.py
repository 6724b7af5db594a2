"""The check of a finished video: every net edit of every event looked for, bystanders, and smoothness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import Evidence, KeyframeEvidence, first_frame_evidence, look
from physplan.verify.agreement import Softened
from physplan.verify.by_keyframes import by_keyframes
from physplan.verify.by_sight import by_sight
from physplan.verify.bystanders import find_bystanders, is_repainted
from physplan.verify.fragments import marked
from physplan.verify.framing import resized
from physplan.verify.limits import Limits, answer
from physplan.verify.perceiving import PerceptionSource
from physplan.verify.sharpness import is_smeared
from physplan.verify.smoothness import smoothness, video_features
from physplan.verify.verdict import Answer, BystanderFound, EventFound, Verdict


@torch.no_grad()
def verify_video(
    chain: EventChain,
    frames: Tensor,
    *,
    perception: PerceptionSource,
    first_frame: Tensor | None = None,
    evidence: Evidence | None = None,
    limits: Limits | None = None,
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
    softened = Softened(frames)
    keyframe = evidence.keyframes[-1] if evidence is not None and evidence.keyframes else None
    kept = find_bystanders(chain, first, keyframe, softened, limits)
    events = (
        by_keyframes(chain, evidence, softened, limits)
        if evidence is not None
        else by_sight(chain, first, frames, perception.segmenter, perception.depth, limits)
    )
    if evidence is not None:
        events = marked(chain, evidence, frames[-1], events, perception)
    score = _score(events, kept, limits)
    last = None if keyframe is None else keyframe.image
    repainted = is_repainted(chain, first, last, softened, limits)
    if repainted:
        score = min(score, 0.0)
        events = tuple(replace(event, verdict="fails") for event in events)
    smeared = keyframe is not None and evidence is not None and is_smeared(chain, evidence, frames, limits)
    found = _overall(score, events, limits)
    if smeared and found == "holds":
        found = "doubtful"
    motion = smoothness(video_features(frames, perception.encoder)).to_json()
    return Verdict(
        verdict=found,
        score=score,
        compared_with="plan" if evidence is None else "keyframes",
        events=events,
        bystanders=kept,
        motion=motion,
        repainted=repainted,
        smeared=smeared,
    )


def _overall(score: float, events: Sequence[EventFound], limits: Limits) -> Answer:
    """A video holds when its score does and no line of it says that something is not there."""
    found = answer(score, limits.holds, limits.fails)
    unseen = all(edit.value is None for edit in events[-1].edits)  # nothing was there to be compared
    failing = any(edit.verdict == "fails" for event in events for edit in event.edits)
    return "doubtful" if found == "holds" and (unseen or failing) else found


def _fitted(frames: Tensor, count: int, first: KeyframeEvidence) -> Tensor:
    """Any video at the plan's number of frames and the picture's size: the nearest frame of each time."""
    if frames.ndim != 4 or frames.shape[1] != 3 or len(frames) < 2:
        raise PhysPlanError(
            f"A video to judge has at least two frames [F, 3, H, W], not {list(frames.shape)}."
        )
    if len(frames) != count:
        frames = frames[torch.linspace(0, len(frames) - 1, count).round().long()]
    return resized(frames, (first.depth.shape[-1], first.depth.shape[-2]))


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

"""What happened in a video: the simulated outcome that it is nearest to, and whether the rest was left
alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from physplan_sandbox.world.scene import Scene

PIXEL_DIFFERENCE = 0.10  # two outcomes differ at a pixel when their colours do by this much
OBJECT_CHANGE = 0.07  # an object has changed when its pixels have by this much, on average, in any late frame
MIN_PIXELS = 24  # so many pixels, over all frames, have to differ for an event to be judged by them
LATE_FRAMES = 8  # changes are looked for in the last frames

Video = NDArray[Any]  # [T, H, W, 3] in [0, 1]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    outcome: str
    wanted: str
    distances: Mapping[str, float]
    changes: Mapping[str, float]  # per uninvolved object

    @property
    def plausible(self) -> bool:
        return self.outcome == self.wanted

    @property
    def margin(self) -> float:
        """How much nearer the plausible outcome is than the best other: the log of the distances' ratio."""
        own = self.distances[self.wanted]
        others = min(distance for name, distance in self.distances.items() if name != self.wanted)
        return math.log(max(others, 1e-9) / max(own, 1e-9))

    @property
    def preserved(self) -> bool:
        return all(change < OBJECT_CHANGE for change in self.changes.values())


def judge(scene: Scene, video: Video, *, uninvolved: tuple[str, ...] | None = None) -> Verdict:
    """Decide the outcome of a generated video of this scene; `uninvolved` are object keys (default: the
    distractors)."""
    clips = {name: scene.render(name) for name in scene.outcomes}
    distances = outcome_distances(
        video, {name: clip.frames / np.float32(255) for name, clip in clips.items()}
    )
    nearest = min(distances, key=distances.__getitem__)
    truth = clips[scene.plausible]
    keys = tuple(scene.distractors) if uninvolved is None else uninvolved
    changes = {key: object_change(video, truth.objects == truth.names.index(key)) for key in keys}
    return Verdict(outcome=nearest, wanted=scene.plausible, distances=distances, changes=changes)


def judge_events(scene: Scene, video: Video, anchors: Sequence[int]) -> list[bool | None]:
    """Per event, whether the video is nearest to the plausible outcome between the anchor before and its own.

    None where the outcomes do not differ yet, or where what differs is out of sight.
    """
    clips = {name: scene.render(name).frames / np.float32(255) for name in scene.outcomes}
    verdicts: list[bool | None] = []
    for start, end in pairwise((0, *anchors)):
        part = slice(start + 1, end + 1)
        shown = {name: clip[part] for name, clip in clips.items()}
        distances = outcome_distances(video[part], shown, least=MIN_PIXELS)
        known = not np.isnan(list(distances.values())).any()
        verdicts.append(min(distances, key=distances.__getitem__) == scene.plausible if known else None)
    return verdicts


def outcome_distances(video: Video, outcomes: Mapping[str, Video], *, least: int = 1) -> dict[str, float]:
    """Mean squared distance to each outcome, over the pixels and frames where the outcomes differ.

    NaN where they do at fewer than `least`.
    """
    smooth = {name: _soften(clip) for name, clip in outcomes.items()}
    stack = np.stack(list(smooth.values()))
    differs = (stack.max(axis=0) - stack.min(axis=0)).max(axis=-1) > PIXEL_DIFFERENCE
    if differs.sum() < least:
        return dict.fromkeys(outcomes, float("nan"))
    seen = _soften(video)[differs]
    return {name: float(np.square(seen - clip[differs]).mean()) for name, clip in smooth.items()}


def object_change(video: Video, mask: NDArray[np.bool_]) -> float:
    """The largest mean change of an object's pixels since the first frame, where the truth shows it in
    both."""
    inside = ndimage.binary_erosion(mask[0])
    worst = 0.0
    for frame in range(len(video) - LATE_FRAMES, len(video)):
        shown = inside & mask[frame]
        if shown.sum() >= 8:
            worst = max(worst, float(np.abs(video[frame] - video[0])[shown].mean()))
    return worst


def _soften(video: Video) -> Video:
    """A blur of about two pixels: edges a pixel off are no other outcome."""
    softened: Video = ndimage.uniform_filter(np.asarray(video, dtype=np.float32), size=(1, 3, 3, 1))
    return softened

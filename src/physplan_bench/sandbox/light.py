"""Does a video draw the light that a cutout does not carry: shadows, reflections, lamplight?

The truth is the simulator's lit clip and the same clip without one effect. Where an effect is new since
the first frame, a pixel is right if it is nearer to the clip with it than to the clip without; where one
was and is no longer, a pixel is right if nothing of it is left behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from physplan.pipeline.backends import Backends
from physplan.video.protocol import VideoModel
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.components import load_lit_video
from physplan_sandbox.world.light import EFFECTS, TABLE_INDEX, LitClip, lighting_of, render_lit
from physplan_sandbox.world.render import Clip

VISIBLE_CHANGE = 12 / 255  # an effect that changes no channel by more cannot be seen
LEAST_PIXELS = 20  # pixels: less of an effect in a scene says nothing


@dataclass(frozen=True, kw_only=True)
class EffectCount:
    """Pixels of one effect in one video, summed over the frames that were looked at."""

    new: int = 0
    right: int = 0  # of the new ones
    gone: int = 0  # where the effect was in the first frame, and the table is bare now
    left: int = 0  # of those: it still shows

    @property
    def share(self) -> float | None:
        """Of new and gone pixels the right ones; None where there is too little to see."""
        of = self.new + self.gone
        return (self.right + self.gone - self.left) / of if of >= LEAST_PIXELS else None


class LitScene(PreparedScene):
    """A scene in its lit version."""

    @cached_property
    def lit(self) -> LitClip:
        return render_lit(self.scene.sprites(), self.scene.backdrop, lighting_of(self.scene.name))

    @cached_property
    def truth(self) -> Clip:
        plain = self.scene.render()
        frames = (self.lit.frames * 255 + 0.5).astype(np.uint8)
        return Clip(frames, plain.objects, plain.depth, plain.names)


class TunedLitScene(LitScene):
    """The same with the drawing network that was fine-tuned on lit clips."""

    @cached_property
    def backends(self) -> Backends:
        return LitBackends(self.config)


class LitBackends(Backends):
    @cached_property
    def video(self) -> VideoModel:
        return load_lit_video()


def count_effects(
    video: NDArray[np.uint8], truth: LitClip, frames: Sequence[int]
) -> Mapping[str, EffectCount]:
    """video [T, H, W, 3]; `frames`: those to look at, such as the anchors, where places are certain."""
    seen = video.astype(np.float32) / 255
    return {effect: _count(seen, truth, truth.without[effect], frames) for effect in EFFECTS}


def _count(seen: np.ndarray, truth: LitClip, bare: np.ndarray, frames: Sequence[int]) -> EffectCount:
    added = truth.frames - bare  # what the effect does [T, H, W, 3]
    there = np.abs(added).max(axis=-1) > VISIBLE_CHANGE
    total = dict.fromkeys(("new", "right", "gone", "left"), 0)
    for t in frames:
        new = there[t] & ~there[0]
        table = (truth.objects[t] == TABLE_INDEX) & (truth.objects[0] == TABLE_INDEX)
        gone = there[0] & ~there[t] & table
        total["new"] += int(new.sum())
        total["right"] += int((new & _drawn(seen[t] - bare[t], added[t], slack=True)).sum())
        total["gone"] += int(gone.sum())
        total["left"] += int((gone & _drawn(seen[t] - truth.frames[t], added[0], slack=False)).sum())
    return EffectCount(**total)


def _drawn(difference: np.ndarray, effect: np.ndarray, *, slack: bool) -> np.ndarray:
    """Where `difference` [H, W, 3] goes at least half of the way that the effect would: bool [H, W]."""
    length = np.square(effect).sum(axis=-1)
    along = (difference * effect).sum(axis=-1) / np.maximum(length, 1e-9)
    found: np.ndarray = along >= 0.5
    return np.asarray(ndimage.maximum_filter(found, size=3)) if slack else found

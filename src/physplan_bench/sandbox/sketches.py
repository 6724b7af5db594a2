"""Other sketches than the method's own, to compare it with: states that jump, and whole keyframes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.sketch import Sketch


def without_motion(sketch: Sketch, anchors: Sequence[int]) -> Sketch:
    """Each frame shows the state whose anchor is nearest: half-way between two anchors it jumps.

    A state is drawn at its anchor just as with motion, so what is left out is the way between them alone.
    """
    times = torch.tensor([0, *anchors])
    frames = torch.arange(len(sketch.frames))
    nearest = times[(frames[:, None] - times[None]).abs().argmin(dim=1)]
    return replace(sketch, frames=sketch.frames[nearest], masks=sketch.masks[nearest])


def whole_keyframes(chain: EventChain, evidence: Evidence) -> Sketch:
    """Nothing is cut out: from one whole keyframe to the next by fading, and all of it is held."""
    pictures = torch.stack([evidence.first.image, *(frame.image for frame in evidence.keyframes)])
    frames = _faded(pictures, (0, *chain.anchors), chain.num_frames)
    everywhere = torch.ones_like(frames[:, :1], dtype=torch.bool)
    return Sketch(
        frames=frames,
        masks=everywhere,
        kept=torch.zeros_like(everywhere[0]),
        orders=tuple(() for _ in chain.events),
        notes=(),
    )


def _faded(pictures: Tensor, times: Sequence[int], count: int) -> Tensor:
    """Pictures [n, 3, H, W] at their times, linear between; the last one stays."""
    ends = torch.tensor(times)
    found = []
    for frame in range(count):
        after = int(torch.searchsorted(ends, frame).clamp(max=len(times) - 1))
        before = max(after - 1, 0)
        length = max(times[after] - times[before], 1)
        share = min((frame - times[before]) / length, 1.0)
        found.append(torch.lerp(pictures[before], pictures[after], share))
    return torch.stack(found)

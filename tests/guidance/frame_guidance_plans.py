"""What the step-by-step comparisons with Frame Guidance's code begin with: keyframes, a plan's anchors."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from physplan.graph import EventChain, PhysicalDelta
from physplan.perception import Evidence


def keyframes(evidence: Evidence, size: tuple[int, int]) -> list[Tensor]:
    """In [-1, 1], as the pipelines have them: pictures of 8 bits, resized with Lanczos."""
    pictures = [
        Image.fromarray((k.image * 255).round().byte().permute(1, 2, 0).numpy()) for k in evidence.keyframes
    ]
    resized = [
        torch.from_numpy(np.array(one.resize(size[::-1], Image.Resampling.LANCZOS))) for one in pictures
    ]
    return [one.permute(2, 0, 1) / 127.5 - 1 for one in resized]


def at_anchors(chain: EventChain, *fractions: float) -> EventChain:
    return EventChain.build(
        prompt=chain.prompt,
        num_frames=chain.num_frames,
        graph=chain.graph,
        deltas=[PhysicalDelta(e.delta.states, f) for e, f in zip(chain.events, fractions, strict=True)],
        edits=[event.edits for event in chain.events],
    )

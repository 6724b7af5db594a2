"""A score asked of a judge about a video; the question is asked again while no answer holds one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from physplan.calls.gateway import Gateway
from physplan.calls.protocol import ImagePart, Request

Score = TypeVar("Score", int, float)
LONG_SIDE = 512  # pixels of a frame that is sent
MAX_ATTEMPTS = 3


def ask_score(gateway: Gateway, request: Request, read: Callable[[str], Score | None]) -> Score | None:
    """What `read` finds in the first answer that holds a score; each attempt is another, stored, question."""
    for attempt in range(MAX_ATTEMPTS):
        again = f"\n(Attempt {attempt + 1}.)" if attempt else ""
        answer = gateway.ask(replace(request, text=request.text + again)).reply.text
        if (score := read(answer)) is not None:
            return score
    return None


def encode_frames(frames: Sequence[np.ndarray], long_side: int = LONG_SIDE) -> tuple[ImagePart, ...]:
    """Frames are (H, W, 3) uint8."""
    from PIL import Image

    from physplan.reasoning.picture import Picture

    images = [Image.fromarray(frame) for frame in frames]
    for image in images:
        image.thumbnail((long_side, long_side), Image.Resampling.LANCZOS)
    return tuple(Picture(image).part for image in images)

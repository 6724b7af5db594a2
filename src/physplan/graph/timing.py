"""When each state holds: fractions of the video, and the frames at which events end (eq. 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from physplan.graph.errors import TimingError

FINAL_SHARE = 0.9  # what rescaled fractions sum to: the final state keeps the last tenth of the video


def rescale(fractions: Sequence[float]) -> tuple[float, ...]:
    """The fractions as they are when they sum to less than 1, else scaled to sum 0.9."""
    for fraction in fractions:
        if not (math.isfinite(fraction) and fraction > 0):
            raise TimingError(
                f"the fraction {fraction} is not a positive number: give each event a share above 0"
            )
    total = math.fsum(fractions)
    if total < 1:
        return tuple(fractions)
    return tuple(fraction * FINAL_SHARE / total for fraction in fractions)


def anchors(fractions: Sequence[float], num_frames: int) -> tuple[int, ...]:
    """f_i = round((d_1 + ... + d_i) (F - 1)), eq. 2; halves round up.

    Strictly increasing and inside (0, F - 1]: an anchor that rounding puts on its predecessor moves on by one
    frame, and where the end of the video leaves no room for that, the anchors before it move back.
    """
    last = num_frames - 1
    count = len(fractions)
    if count > last:
        raise TimingError(
            f"{num_frames} frames are too few for {count} events: each needs a frame of its own after the "
            f"first; use at least {count + 1} frames or fewer events"
        )
    shares = rescale(fractions)
    frames: list[int] = []
    for i in range(count):
        exact = math.fsum(shares[: i + 1]) * last
        frame = math.floor(exact + 0.5)
        frames.append(max(frame, frames[-1] + 1 if frames else 1))
    return tuple(min(frame, last - (count - 1 - i)) for i, frame in enumerate(frames))

"""Sizes, durations and segments: what is asked of a server for the video that the run wants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from physplan.errors import PhysPlanError
from physplan.keyframes.framing import Box, same_shape
from physplan_models.servers.protocol import Abilities

FULL: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Frames `start` to `end` of the video, both included; `event` whose keyframe is the last of them."""

    start: int
    end: int
    event: int | None = None
    of_a_chain: bool = False

    @property
    def frames(self) -> int:
        return self.end - self.start + 1


def segments(anchors: tuple[int, ...], num_frames: int) -> tuple[Segment, ...]:
    """One per event, from keyframe to keyframe, and the rest after the last; neighbours share a frame."""
    bounds = (0, *anchors)
    found = [
        Segment(start=bounds[i], end=bounds[i + 1], event=i, of_a_chain=True) for i in range(len(anchors))
    ]
    if bounds[-1] < num_frames - 1:
        found.append(Segment(start=bounds[-1], end=num_frames - 1, of_a_chain=True))
    return tuple(found)


def choose_size(size: tuple[int, int], abilities: Abilities) -> tuple[int, int]:
    """(width, height) to ask for: of the listed ones the nearest shape, and of that the smallest that is
    no smaller than the run's."""
    if abilities.sizes is None:
        return size

    def far(listed: tuple[int, int]) -> tuple[float, bool, float]:
        shape = abs(math.log(listed[0] * size[1] / (listed[1] * size[0])))
        area, wanted = listed[0] * listed[1], size[0] * size[1]
        return round(shape, 3), area < wanted, abs(area - wanted)

    return min(abilities.sizes, key=far)


def choose_seconds(
    frames: int, fps: float, abilities: Abilities, *, last: bool = False, slowed: bool = False
) -> float:
    """The shortest listed duration that holds so many frames; `last`: a last frame is given too. `slowed`:
    where none does, the longest, which is slowed down."""
    if last and abilities.between_frames:
        abilities = replace(abilities, durations=abilities.between_frames)
    needed = frames / fps
    longest = max(abilities.durations) if abilities.durations else abilities.longest
    if longest is not None and (frames - 1) / fps > longest:
        if slowed:
            return longest
        raise PhysPlanError(
            f"The server makes at most {longest:g} s, and {frames} frames at {fps:g} per second last "
            f"{needed:.1f}: ask for at most {math.floor(longest * fps)} (--set video.num_frames=N)."
        )
    if abilities.durations is None:
        return needed
    return next((s for s in sorted(abilities.durations) if s >= (frames - 1) / fps), max(abilities.durations))


def middle(size: tuple[int, int], wanted: tuple[int, int]) -> Box:
    """Of a picture of `size`, the middle in the shape of `wanted`."""
    if same_shape(size, wanted):
        return FULL
    scale = max(wanted[0] / size[0], wanted[1] / size[1])
    across, down = wanted[0] / scale / size[0], wanted[1] / scale / size[1]
    return ((1 - across) / 2, (1 - down) / 2, (1 + across) / 2, (1 + down) / 2)

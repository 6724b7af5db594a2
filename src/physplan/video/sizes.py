"""Frame counts and sizes a model can take; others are refused with the nearest ones it can."""

from __future__ import annotations

from physplan.errors import PhysPlanError


def nearest(value: int, multiple: int, offset: int = 0) -> tuple[int, ...]:
    """The one or two values of the form k * multiple + offset, k >= 1, that lie around `value`."""
    below = (value - offset) // multiple * multiple + offset
    around = [v for v in (below, below + multiple) if v >= multiple + offset]
    return tuple(around) or (multiple + offset,)


def check_frames(name: str, num_frames: int, *, multiple: int) -> None:
    if num_frames > 1 and (num_frames - 1) % multiple == 0:
        return
    rule = f"{multiple}k + 1 frames" if multiple > 1 else "at least 2 frames"
    choices = " or ".join(str(v) for v in nearest(num_frames, multiple, 1))
    raise PhysPlanError(
        f"{name} makes videos of {rule}, and {num_frames} is not such a number: use {choices}."
    )


def check_sides(name: str, height: int, width: int, *, multiple: int) -> None:
    wrong = [(side, v) for side, v in (("height", height), ("width", width)) if v < multiple or v % multiple]
    if not wrong:
        return
    advice = ", ".join(f"{side} {' or '.join(map(str, nearest(v, multiple)))}" for side, v in wrong)
    raise PhysPlanError(
        f"{name} takes sizes in multiples of {multiple} pixels, not {width}x{height}: use {advice}."
    )

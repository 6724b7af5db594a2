"""The laws against a recording: the thrown ball of Debian's python3-mecavideo flies as `projectile` says.

Nothing of the package is shipped here (its clips are CC BY-SA): install it, or unpack it and name its folder
of videos in PHYSPLAN_MECAVIDEO.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage, optimize

from physplan.graph import motion
from physplan.graph.laws import Point, Way, moment

CLIPS = Path(os.environ.get("PHYSPLAN_MECAVIDEO", "/usr/share/pymecavideo/data/video"))
THROWN = CLIPS / "balle1-vp9.avi"
RED = 60  # how much redder than green and blue the ball is
RELEASED = 5  # frames after which it has left the hand


def test_a_thrown_ball_follows_the_projectile_law() -> None:
    if not THROWN.is_file():
        where = "install Debian's python3-mecavideo, or set PHYSPLAN_MECAVIDEO to its videos"
        pytest.skip(f"{THROWN} is not there: {where}")
    track, height = ball_track(THROWN)
    flight = track[RELEASED : first_bounce(track)] / height
    residual = np.abs(flight - fitted(flight))
    distance = np.hypot(residual[:, 0], residual[:, 1])
    rms, worst = float(np.sqrt((distance**2).mean())), float(distance.max())
    print(f"{len(flight)} frames, residual {rms:.2%} rms, {worst:.2%} at worst, of the frame's height")
    assert len(flight) > 100
    assert worst < 0.03
    straight = np.linspace(flight[0], flight[-1], len(flight))
    assert np.hypot(*(flight - straight).T).max() > 0.3  # a line would not do


def ball_track(path: Path) -> tuple[NDArray[np.float64], int]:
    """The red ball's centre (x, y) in every frame up to the first in which it is not seen."""
    import av

    places: list[tuple[float, float]] = []
    with av.open(str(path)) as clip:
        for frame in clip.decode(video=0):
            picture = frame.to_ndarray(format="rgb24").astype(np.int16)
            red = picture[..., 0] - np.maximum(picture[..., 1], picture[..., 2]) > RED
            labels, count = ndimage.label(red)
            if not count:
                break
            largest = 1 + int(np.argmax(ndimage.sum(red, labels, range(1, count + 1))))
            y, x = ndimage.center_of_mass(labels == largest)
            places.append((x, y))
    return np.array(places), picture.shape[0]


def first_bounce(track: NDArray[np.float64]) -> int:
    """A little before it is lowest for the first time: at the floor the frame cuts the ball."""
    apex = int(np.argmin(track[: len(track) // 2, 1]))
    rising = np.nonzero(np.diff(track[apex:, 1]) < -1)[0]
    return apex + int(rising[0] if len(rising) else len(track) - apex) - 5


def fitted(flight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law between the first and the last place; only `rise` is free."""
    start, end = (tuple(map(float, flight[k])) for k in (0, -1))

    def path(rise: float) -> NDArray[np.float64]:
        way = Way(start=_point(start), end=_point(end))
        times = np.linspace(0, 1, len(flight))
        return np.array([moment(motion("ball#1", "projectile", rise=rise), way, u).place for u in times])

    def squares(rise: float) -> float:
        return float(np.square(path(rise) - flight).sum())

    return path(float(optimize.minimize_scalar(squares, bounds=(0, 1), method="bounded").x))


def _point(place: tuple[float, ...]) -> Point:
    return place[0], place[1]

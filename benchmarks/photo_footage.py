"""`python -m benchmarks.photo_footage DIR`: our motion from the first frame against what really happened.

DIR holds the clips of Debian's python3-mecavideo (docs/photographs.md). Given are the first frame, the moving
thing's outline there, where it ends, the law and, where the law has one, the speed at the start (from five
frames); the composer draws the rest. Beside it: the first frame held still, and the same thing on a straight
line at constant speed. Measured as Physics-IQ does, and how far the thing is from where it really was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physplan.errors import PhysPlanError
from physplan.graph import EventChain, Motion, Node, PhysicalDelta, StateChange, StateGraph, Update, motion
from physplan.graph.laws import Way, moment
from physplan_bench.physics_iq import Metrics, compare, motion_masks

Video = NDArray[np.uint8]  # [T, H, W, 3]
Mask = NDArray[np.bool_]
WIDTH = 400  # pixels: larger clips are made smaller
APART = 40  # of 255: what a moving thing differs from the clip's median
MOST = 49  # frames


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames from `start` to `stop` of a file, in which one thing moves by one law."""

    file: str
    shows: str
    law: str
    start: int
    stop: int
    left: float = 0.0  # share of the width in which something else moves


CLIPS = (
    Clip("balle1-vp9.avi", "a thrown ball on its way down", "projectile", 60, 128, left=0.12),
    Clip("Principe_inertie.avi", "a puck without force", "linear", 6, 28),
    Clip("Force_constante.avi", "a puck under a constant force", "accelerating", 12, 26),
    Clip("balle-jbart.mp4", "a ball on its way down a hollow", "accelerating", 8, 44),
    Clip("balle-jbart.mp4", "the ball on its way up", "decelerating", 60, 84),
)


def read(path: Path, start: int, stop: int) -> Video:
    """At most 49 frames, evenly spaced, at most 400 pixels wide."""
    import av
    import cv2

    frames = []
    with av.open(str(path)) as clip:
        for number, frame in enumerate(clip.decode(video=0)):
            if start <= number < stop:
                frames.append(frame.to_ndarray(format="rgb24"))
    if len(frames) < 9:
        raise PhysPlanError(f"{path} has {len(frames)} of the frames {start} to {stop}.")
    frames = frames[:: -(-len(frames) // MOST)]
    scale = min(1.0, WIDTH / frames[0].shape[1])
    size = (round(frames[0].shape[1] * scale), round(frames[0].shape[0] * scale))
    return np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames])


def moving(video: Video, whole: Video, left: float) -> Iterator[Mask]:
    """The largest thing of each frame, right of `left`, that the median of the whole clip does not show."""
    from scipy import ndimage

    median = np.median(whole, axis=0)
    for frame in video:
        away = np.abs(frame.astype(np.int16) - median).max(-1) > APART
        away[:, : round(left * away.shape[1])] = False
        labels, count = ndimage.label(ndimage.binary_opening(away, iterations=1))
        if not count:
            raise PhysPlanError("Nothing moves in a frame of the clip: choose other frames.")
        sizes = np.bincount(labels.ravel())
        sizes[0] = 0
        yield ndimage.binary_fill_holes(ndimage.binary_dilation(labels == sizes.argmax(), iterations=2))


def centre(mask: Mask) -> tuple[float, float]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return float(columns[0] + columns[-1] + 1) / 2, float(rows[0] + rows[-1] + 1) / 2


def drawn(first: NDArray[Any], mask: Mask, law: Motion, count: int) -> Video:
    """The composer's frames of a plan with one event."""
    from physplan_photo.compose.config import ComposeConfig
    from physplan_photo.compose.render import Renderer

    id = law.o
    chain = EventChain.build(
        prompt="it moves",
        num_frames=count,
        graph=StateGraph([Node(id, "ball")], []),
        deltas=[PhysicalDelta((StateChange(id, "elsewhere", "it moves on"),), 0.999)],
        edits=[(Update(id, "configuration", "moved"),)],
        motions=[(law,)],
    )
    image = first.astype(np.float32) / 255
    config = ComposeConfig(shadows=False)
    renderer = Renderer(chain=chain, image=image, masks={id: mask}, seed=0, config=config)
    return np.stack([np.round(renderer.frame(k).image * 255).astype(np.uint8) for k in range(count)])


def measure(folder: Path, clip: Clip) -> dict[str, tuple[Metrics, float]]:
    video = read(folder / clip.file, clip.start, clip.stop)
    whole = read(folder / clip.file, 0, 10**6)
    masks = list(moving(video, whole, clip.left))
    places = np.array([centre(mask) for mask in masks]) / video.shape[1]
    shift = dict(zip(("dx", "dy"), (places[-1] - places[0]).round(4).tolist(), strict=True))
    id = "ball#1"
    laws = {
        "ours": motion(id, clip.law, **shift, **start_speed(clip.law, places)),
        "straight": motion(id, "linear", **shift),
    }
    truth = motion_masks(video)
    found = {}
    for name in ("ours", "straight", "still"):
        law = laws.get(name)
        made = drawn(video[0], masks[0], law, len(video)) if law else np.repeat(video[:1], len(video), axis=0)
        found[name] = compare(made, motion_masks(made), video, truth), float(off(law, places).mean())
    return found


def start_speed(law: str, places: NDArray[Any]) -> dict[str, float]:
    """The parameter `speed` of the laws that have one, from the way of the first five frames."""
    if law not in ("accelerating", "decelerating"):
        return {}
    ahead = min(4, len(places) - 1)
    first = np.linalg.norm(places[ahead] - places[0]) / ahead * (len(places) - 1)
    whole, u = np.linalg.norm(places[-1] - places[0]), ahead / (len(places) - 1)
    # The share of the way after u: s u + (1 - s) u^2, or s u + (1 - s) u (2 - u).
    other = u if law == "accelerating" else 2 - u
    return {"speed": float(np.clip((first / whole - other) / (1 - other), 0, 1).round(3))}


def off(law: Motion | None, places: NDArray[Any]) -> NDArray[Any]:
    """How far the thing is from where it really was in each frame, in heights of the frame."""
    if law is None:
        return np.asarray(np.linalg.norm(places - places[0], axis=1))
    start, end = (tuple(map(float, places[k])) for k in (0, -1))
    way = Way(start=(start[0], start[1]), end=(end[0], end[1]))
    drawn = [moment(law, way, k / (len(places) - 1)).place for k in range(len(places))]
    return np.asarray(np.linalg.norm(places - np.array(drawn), axis=1))


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    folder = Path(given[0] if given else "/usr/share/pymecavideo/data/video")
    if not (folder / CLIPS[0].file).is_file():
        print(
            f"Skipped: {folder} has no {CLIPS[0].file}. Unpack Debian's python3-mecavideo, name its folder."
        )
        return 0
    measures = f"{'where+when':>10} {'where':>7} {'how much':>9} {'MSE':>8} {'off':>6}"
    print(f"{'clip':34} {'law':13} {'video':9} {measures}")
    for clip in CLIPS:
        for name, (found, away) in measure(folder, clip).items():
            print(
                f"{clip.shows:34} {clip.law:13} {name:9} {found.spatiotemporal:10.3f} {found.spatial:7.3f} "
                f"{found.weighted_spatial:9.3f} {found.mse:8.5f} {away:6.3f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PhysPlanError as error:
        sys.exit(f"physplan: {error}")

"""How well what moves is drawn: by the autoencoder alone, and by the video model.

python -m benchmarks.sandbox_motion --scenes 60        (also a part of make bench-sandbox-models)
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from physplan.perception.protocol import Segmenter
from physplan_sandbox.components import WEIGHTS, load_segmenter, load_video
from physplan_sandbox.outcome import judge
from physplan_sandbox.video import SandboxCodec
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.render import FRAMES, Clip
from physplan_sandbox.world.scene import Scene

FIRST = 1700  # test scenes below were looked at while the models were made
MOVED = 0.05  # a pixel that differs this much from the first frame, of brightness 1, has moved
CLEAR = np.log(2.0)  # the nearest outcome is at most half as far as the next
LOOKS = range(2, FRAMES, 3)
Video = NDArray[Any]  # [T, H, W, 3] in [0, 1]


@torch.no_grad()
def reconstructed(clip: Clip) -> Video:
    """What is left of a clip after the autoencoder."""
    codec = load_video().codec
    assert isinstance(codec, SandboxCodec)
    video = torch.from_numpy(clip.frames).permute(3, 0, 1, 2)[None].float() / 127.5 - 1
    decoded = codec.autoencoder.decode(codec.autoencoder.encode(video))[0]
    frames: Video = (decoded / 2 + 0.5).clamp(0, 1).permute(1, 2, 3, 0).numpy()
    return frames


def moving(video: Video) -> NDArray[np.bool_]:
    """[T, H, W]: pixels that differ from the first frame."""
    return np.asarray(np.abs(video - video[:1]).max(axis=-1) > MOVED)


def moving_psnr(chosen: Sequence[Scene]) -> dict[str, float]:
    """Decibels over moving pixels, per phenomenon."""
    errors: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for one in chosen:
        clip = one.render()
        truth = clip.frames / np.float32(255)
        errors[one.phenomenon.name].append(np.square(reconstructed(clip) - truth)[moving(truth)].ravel())
    return {name: float(-10 * np.log10(np.concatenate(found).mean())) for name, found in errors.items()}


@dataclass(frozen=True)
class Drawn:
    """What became of one video's moving things."""

    found: list[bool]  # per look at a moving object: seen where it is, as what it is
    edges: float | None  # energy of edges where the outcome's true clip moves, over the truth's
    clear: bool


def drawn(one: Scene, video: Video, segmenter: Segmenter) -> Drawn:
    verdict = judge(one, video)
    clip = one.render(verdict.outcome)
    truth = clip.frames / np.float32(255)
    near, *others = sorted(verdict.distances.values())
    clear = bool(np.log(others[0] / max(near, 1e-9)) > CLEAR)
    found = list(seen(one, verdict.outcome, clip, video, segmenter)) if clear else []
    return Drawn(found, edge_ratio(video, truth), clear)


def edge_ratio(video: Video, truth: Video) -> float | None:
    """None of an outcome in which nothing moves: a domino that stays has no moving edges to compare."""
    where = np.stack([ndimage.binary_dilation(mask, iterations=2) for mask in moving(truth)])
    if not where.any():
        return None
    return float(edge_energy(video)[where].sum() / edge_energy(truth)[where].sum())


def edge_energy(video: Video) -> NDArray[Any]:
    """[T, H, W]: squared differences to the neighbours on the right and below."""
    across = np.square(np.diff(video, axis=2, append=video[:, :, -1:])).sum(axis=-1)
    down = np.square(np.diff(video, axis=1, append=video[:, -1:])).sum(axis=-1)
    return np.asarray(across + down)


def seen(one: Scene, outcome: str, clip: Clip, video: Video, segmenter: Segmenter) -> Iterator[bool]:
    """For every moving object in some frames: is there one of its kind within half its size of its place?"""
    categories = {s.object: s.category for s in one.sprites(outcome)}
    for frame in LOOKS:
        shown = [name for name in categories if name in clip.names and moves(clip, name, frame)]
        if not shown:
            continue
        picture = torch.from_numpy(video[frame]).permute(2, 0, 1)
        instances = segmenter.segment(picture, [categories[name] for name in shown])
        for name in shown:
            mask = clip.mask(name, frame)
            place, size = np.array(ndimage.center_of_mass(mask)), np.sqrt(mask.sum())
            yield any(
                i.category == categories[name]
                and np.linalg.norm(np.array(ndimage.center_of_mass(i.mask.numpy())) - place) < size / 2
                for i in instances
            )


def moves(clip: Clip, name: str, frame: int, smallest: int = 30) -> bool:
    """Whether an object can be seen well and is not where it was in the first frame."""
    now, then = clip.mask(name, frame), clip.mask(name, 0)
    return bool(now.sum() >= smallest and (now & then).sum() < 0.5 * now.sum())


def weights_megabytes(folder: Path = WEIGHTS) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=60)
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--split", default="test")
    args = parser.parse_args()
    chosen = [scene(args.split, args.first + k) for k in range(args.scenes)]
    found = moving_psnr(chosen)
    for name, value in sorted(found.items(), key=lambda item: item[1]):
        print(f"{name:12s} {value:6.2f} dB")
    print(f"{'mean':12s} {np.mean(list(found.values())):6.2f} dB over moving pixels, {args.scenes} scenes")
    segmenter = load_segmenter()
    objects = [
        look
        for one in chosen
        for look in seen(one, one.plausible, one.render(), one.render().frames / np.float32(255), segmenter)
    ]
    print(f"moving objects found in the truth itself: {np.mean(objects):.3f} of {len(objects)} looks")


if __name__ == "__main__":
    main()

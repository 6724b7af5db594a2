"""Contact sheets of the sandbox for docs/images: the world's truth beside what the models and methods make.

python -m experiments.sandbox_sheets samples -o docs/images/sandbox-samples.png
python -m experiments.sandbox_sheets methods -o docs/images/methods.png
python -m experiments.sandbox_sheets sketch -o docs/images/sketch.png
python -m experiments.sandbox_sheets look --first 1024 --scenes 10 -o look.png    (test scenes, to look at)
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from physplan.video.sheets import Frames, contact_sheet
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import FIRST_SCENE, SandboxStudy
from physplan_bench.sandbox.making import make_video
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.world.phenomena import PHENOMENA, scene
from physplan_sandbox.world.scene import Scene

# Short ones and stories: what melts, falls, runs over, topples, weighs, spreads.
STORIES = (
    ("ice", "cloth"),
    ("drop", "crate"),
    ("overflow", "glass"),
    ("cascade", "cloth"),
    ("balance", "apple"),
    ("ink", "water"),
)
METHODS = {"base": "base", "frame_guidance": "Frame Guidance", "guided_sketch": "guided sketch"}
LOOK = {"base": "unguided", "guided_sketch": "guided sketch"}
SKETCH = {"storyboard": "the sketch", "sketch": "the video from it"}


def samples() -> list[Scene]:
    """One test scene of each phenomenon."""
    return [scene("test", FIRST_SCENE + i, phenomenon=name) for i, name in enumerate(PHENOMENA)]


def stories() -> list[Scene]:
    return [
        scene("test", FIRST_SCENE + i, phenomenon=name, variant=variant)
        for i, (name, variant) in enumerate(STORIES)
    ]


def as_frames(video: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(video).permute(0, 3, 1, 2).float() / 255


def draw(scenes: Sequence[Scene], methods: dict[str, str], path: Path, *, seed: int) -> None:
    config = SandboxStudy.of_preset().config
    rows: list[tuple[str, Frames]] = []
    for chosen in scenes:
        here = PreparedScene(scene=chosen, config=config)
        rows.append((f"{chosen.prompt} ({chosen.variant}): truth", as_frames(here.truth.frames)))
        for name, words in methods.items():
            print(f"{chosen.name}: {words}", flush=True)
            rows.append((words, as_frames(make_video(here, Arm(name=name), seed=seed))))
    contact_sheet(rows, path, columns=7, frame_width=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sheet", choices=("samples", "methods", "sketch", "look"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=FIRST_SCENE, help="with look: the first test scene")
    parser.add_argument("--scenes", type=int, default=10, help="with look: how many")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.sheet == "samples":
        draw(samples(), {"base": "video model, unguided"}, args.output, seed=args.seed)
    elif args.sheet == "look":
        chosen = [scene("test", args.first + k) for k in range(args.scenes)]
        draw(chosen, LOOK, args.output, seed=args.seed)
    else:
        draw(stories(), METHODS if args.sheet == "methods" else SKETCH, args.output, seed=args.seed)


if __name__ == "__main__":
    main()

"""One sentence, three scenes, three stories in the small world; the base model beside PhysPlan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from physplan.pipeline.events import RunEvent
from physplan.pipeline.pipeline import PhysPlan, Result
from physplan.runs import layout
from physplan.video.files import write_video
from physplan.video.sheets import Frames, contact_sheet
from physplan.video.upscale import MIN_SIDE, to_watch

PROMPT = "nobody closes the tap"
SCENES = {"glass": 0, "stone": 1, "jug": 2}  # variant of the world's scenes of a tap: number of the scene
QUICK = {
    "video.num_inference_steps": 10,
    "guided_sketch.schedule": {"layout_steps": 2, "guided_steps": 6, "repeats": 2},
}
METHODS = {"base": "base model", "guided_sketch": "PhysPlan, guided sketch"}


@dataclass(frozen=True, kw_only=True)
class Demo:
    picture: Path
    video: Path
    reports: tuple[Path, ...]


def make_demo(
    folder: Path, *, quick: bool = False, seed: int = 0, tell: Callable[[str, RunEvent], None]
) -> Demo:
    """Runs that are there already are kept: a second call only puts them together."""
    pp = PhysPlan.from_preset("sandbox", **(QUICK if quick else {}))
    kind = "quick" if quick else "full"
    rows: list[tuple[str, Frames]] = []
    made: dict[tuple[str, str], Result] = {}
    for variant, number in SCENES.items():
        image = first_frame(variant, number)
        for method, name in METHODS.items():
            target = folder / kind / f"{variant}-{method}-{seed}"
            result = pp.generate(
                image,
                PROMPT,
                method=method,
                seed=seed,
                output_dir=target,
                redo=True,
                on_event=lambda event, what=f"{variant}, {name}": tell(what, event),  # type: ignore[misc]
            )
            made[variant, method] = result
            rows.append((f"{variant}: {name}", result.video))
    picture, video = folder / "demo.png", folder / "demo.mp4"
    contact_sheet(
        rows, picture, columns=9, frame_width=128, title=f"“{PROMPT}”: the same words, three scenes"
    )
    write_video(video, grid(made), fps=8, metadata={"prompt": PROMPT, "seed": seed})
    reports = [folder / kind / f"{variant}-guided_sketch-{seed}" / layout.REPORT for variant in SCENES]
    return Demo(picture=picture, video=video, reports=tuple(reports))


def first_frame(variant: str, number: int) -> Image.Image:
    from physplan_sandbox import samples
    from physplan_sandbox.world.phenomena import scene

    return samples.first_frame(scene("test", number, phenomenon="overflow", variant=variant))


def grid(made: dict[tuple[str, str], Result]) -> Tensor:
    """Frames [F, 3, H, W]: the scenes side by side, the base model above PhysPlan."""
    rows = []
    for method in METHODS:
        videos: list[Any] = [made[variant, method].video for variant in SCENES]
        rows.append(torch.cat([F.pad(video, (4, 4, 4, 4), value=1.0) for video in videos], dim=-1))
    return to_watch(torch.cat(rows, dim=-2), side=2 * MIN_SIDE)

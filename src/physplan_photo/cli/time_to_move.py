"""A run as Time-to-Move takes it: first_frame.png, motion_signal.mp4, mask.mp4 and prompt.txt in a folder."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_atomic
from physplan.pipeline.config_loading import load_config
from physplan.runs import layout
from physplan.sketch.registry import sketch_by
from physplan.video.files import write_video

NAMES = ("first_frame.png", "motion_signal.mp4", "mask.mp4", "prompt.txt")
FPS = 16  # of its examples


def export_ttm(run: Path, folder: Path) -> Path:
    """The folder, written from the plan and the evidence of a finished run."""
    chain, evidence = layout.load_plan(run), layout.load_evidence(run)
    if folder.exists() and (not folder.is_dir() or any(p.name not in NAMES for p in folder.iterdir())):
        raise PhysPlanError(f"{folder} holds other files: give a new or an empty folder for Time-to-Move.")
    sketch = sketch_by(load_config(run / layout.CONFIG), chain, evidence)
    folder.mkdir(parents=True, exist_ok=True)
    pixels = (evidence.first.image.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy()
    with atomic_path(folder / NAMES[0]) as temporary:
        Image.fromarray(pixels).save(temporary, "PNG")
    write_video(folder / NAMES[1], sketch.frames, fps=FPS)
    write_video(folder / NAMES[2], sketch.masks.float().expand(-1, 3, -1, -1), fps=FPS)
    write_atomic(folder / NAMES[3], chain.prompt + "\n")
    return folder

"""The sketch as a file of the user's own: a film, or a strip of its frames under the keyframes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.graph import EventChain

if TYPE_CHECKING:
    from physplan.keyframes import Keyframe
    from physplan.pipeline.backends import Backends
    from physplan.pipeline.config import Config
    from physplan.sketch import Sketch
    from physplan.video.sheets import Frames

SUFFIXES = (".mp4", ".mkv", ".png")


def check_sketch_name(path: Path) -> Path:
    """Before anything is drawn or paid for."""
    if path.suffix.lower() not in SUFFIXES:
        raise PhysPlanError(f"{path}: name a sketch .mp4 or .mkv for a film, .png for a strip of its frames.")
    return path


def draw_sketch(
    config: Config,
    backends: Backends,
    frame: Image.Image,
    chain: EventChain,
    *,
    calls: Path | None = None,
    store: Path | None = None,
    on_keyframe: Callable[[Keyframe], None] | None = None,
) -> tuple[Sketch, tuple[Image.Image, ...]]:
    """The keyframes of a plan, and the plan in motion between them. No video model is loaded."""
    from physplan.keyframes import RenderOptions
    from physplan.pipeline.stages import make_evidence, make_keyframes
    from physplan.sketch.registry import sketch_by

    options = RenderOptions(store=store, on_keyframe=on_keyframe)
    drawn = make_keyframes(config, backends, frame, chain, calls=calls, options=options)
    return sketch_by(config, chain, make_evidence(chain, drawn.sightings)), drawn.images


def save_sketch(
    path: Path,
    sketch: Sketch,
    chain: EventChain,
    frame: Image.Image,
    keyframes: Sequence[Image.Image],
    *,
    fps: float,
) -> None:
    from physplan.video.files import write_video

    if path.suffix.lower() != ".png":
        write_video(path, sketch.frames, fps=fps, metadata={"prompt": chain.prompt, "method": "storyboard"})
        return
    write_strip(path, [("sketch", sketch.frames)], chain, frame, keyframes)


def write_strip(
    path: Path,
    films: Sequence[tuple[str, Frames]],
    chain: EventChain,
    frame: Image.Image,
    keyframes: Sequence[Image.Image],
) -> None:
    """Films of one length under the keyframes."""
    from physplan.video.sheets import contact_sheet

    states: list[Image.Image | None] = [None] * len(films[0][1])
    states[0] = frame
    for anchor, image in zip(chain.anchors, keyframes, strict=True):
        states[anchor] = image
    contact_sheet([("keyframes", states), *films], path, marked=chain.anchors, title=chain.prompt)

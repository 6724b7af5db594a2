"""The sandbox's trained parts, ready to use: they come with the package, so nothing is downloaded."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from physplan.errors import PhysPlanError
from physplan_sandbox.models.sight import SandboxDepth, SandboxSegmenter, SightNet

if TYPE_CHECKING:  # who only looks need not wait for the video model's libraries
    from physplan_models.perception.dinov2 import DINOv2
    from physplan_sandbox.video import SandboxVideo

WEIGHTS = Path(__file__).parent / "weights"


@cache
def load_video() -> SandboxVideo:
    from physplan_sandbox.video import SandboxVideo

    return SandboxVideo.from_pretrained(WEIGHTS / "video")


@cache
def load_lit_video() -> SandboxVideo:
    """With the drawing network that was fine-tuned on lit clips (`physplan_sandbox.world.light`)."""
    from physplan_sandbox.models.drawing import DrawingNet
    from physplan_sandbox.video import SandboxVideo

    model = SandboxVideo.from_pretrained(WEIGHTS / "video")
    drawing = DrawingNet.from_pretrained(_folder("lit-drawing"), torch_dtype=torch.float32)
    model.denoiser = drawing.eval().requires_grad_(False)
    return model


@cache
def load_encoder() -> DINOv2:
    from physplan_models.perception.dinov2 import DINOv2

    return DINOv2.from_pretrained(_folder("encoder"))


@cache
def load_segmenter() -> SandboxSegmenter:
    return SandboxSegmenter(_sight())


@cache
def load_depth() -> SandboxDepth:
    return SandboxDepth(_sight())


@cache
def _sight() -> SightNet:
    model: SightNet = SightNet.from_pretrained(_folder("sight"), torch_dtype=torch.float32)
    model.eval().requires_grad_(False)
    return model


def _folder(part: str) -> Path:
    folder = WEIGHTS / part
    if not (folder / "config.json").exists():
        raise PhysPlanError(
            f"The sandbox has no weights for its {part}:"
            f" train them with `python -m physplan_sandbox.train {part}`."
        )
    return folder

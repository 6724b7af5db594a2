"""The denoisers by name, and the training run of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from physplan_sandbox.models.autoencoder import FrameAutoencoder
from physplan_sandbox.models.contour import build_contour
from physplan_sandbox.models.drawing import DrawingNet
from physplan_sandbox.models.int8_weights import load_packed
from physplan_sandbox.models.outline import OutlineNet
from physplan_sandbox.train.contour import learn_contour
from physplan_sandbox.train.lit import LIT, LIT_CLIPS, learn_lit_drawing
from physplan_sandbox.train.loop import StepLoss, TrainConfig, train
from physplan_sandbox.train.video import CONTOUR, DRAWING, OUTLINE, learn_drawing, learn_outline

#: Per denoiser: constructor, training configuration, number of clips, loss factory.
NETWORKS: dict[str, tuple[Any, TrainConfig, int, Callable[..., StepLoss]]] = {
    "outline": (OutlineNet, OUTLINE, 20_000, learn_outline),
    "contour": (build_contour, CONTOUR, 12_000, learn_contour),
    "drawing": (DrawingNet, DRAWING, 8_000, learn_drawing),
    "lit-drawing": (DrawingNet, LIT, LIT_CLIPS, learn_lit_drawing),
}


def run(
    part: str,
    folder: Path,
    weights: Path,
    *,
    config: TrainConfig | None = None,
    clips: int | None = None,
    start: Path | None = None,
) -> tuple[nn.Module, dict]:
    """Train one denoiser, from scratch or from `start`; `weights` has the autoencoder and, for contours, the
    outline network."""
    build, usual, many, make_loss = NETWORKS[part]
    config = config or usual
    torch.manual_seed(config.seed)
    denoiser = build()
    if start is not None and isinstance(denoiser, OutlineNet):
        denoiser = load_packed(OutlineNet, start)
    elif start is not None:
        denoiser = DrawingNet.from_pretrained(start, torch_dtype=torch.float32)
    frozen = FrameAutoencoder.from_pretrained(weights / "autoencoder", torch_dtype=torch.float32)
    frozen.requires_grad_(False)
    if isinstance(denoiser, DrawingNet):
        denoiser.draw_with(frozen.patterns, frozen.scale)
    loss_at = make_loss(denoiser, frozen, folder, clips or many, config, weights)
    return denoiser, train(denoiser, loss_at, config, folder, name=part)

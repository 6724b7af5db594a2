"""The slice of the clean latent around an anchor, decoded, measured, and the way back to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.guidance.measurement import Measured
from physplan.guidance.objective import Objective
from physplan.guidance.records import TermRecord
from physplan.guidance.selection import TermSpec
from physplan.video.frames import Window
from physplan.video.protocol import VideoModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Active:
    """A term that has something to say about this preview; it holds no graph."""

    spec: TermSpec
    region: Tensor | None
    value: float
    pixels: Tensor  # its gradient [3, H, W] at the decoded frame


@dataclass(frozen=True, kw_only=True, eq=False)
class Preview:
    """x_i = D(z_{0|t}[J_i]), its terms, and the graph from the latent slice to the frame."""

    event: int
    window: Window
    latents: Tensor  # the detached slice [1, C, length, H, W], a leaf
    frame: Tensor  # [3, H, W], a function of it
    active: tuple[Active, ...]
    idle: tuple[TermRecord, ...]  # terms without a gradient: satisfied or skipped
    regions: Mapping[str, Tensor | None]  # of every term that was measured, by event and term

    def back(self, pixels: Tensor, *, again: bool = False) -> Tensor:
        """Pass a gradient at the frame back through the decoder; `again` when more of them follow."""
        (gradient,) = torch.autograd.grad(self.frame, self.latents, pixels, retain_graph=again)
        return gradient


def look(
    model: VideoModel,
    clean: Tensor,
    event: int,
    window: Window,
    *,
    objective: Objective,
    progress: float,
    downscale: int = 1,
    satisfied: float = 0.0,
) -> Preview:
    """Decode the window's frame from `clean` (detached) and measure it, term by term down to the pixels."""
    latents = clean[:, :, window.latents].clone().requires_grad_()
    with torch.enable_grad():
        frame = model.decode_window(shrink(latents, downscale), window)
        pixels = frame.detach().requires_grad_()
        measured = objective.measure(event, pixels, progress)
    active, idle = [], []
    for term, value in zip(measured, _values(measured), strict=True):
        if value is None:
            idle.append(TermRecord.of(term.spec, value=None, skipped=term.skipped))
        elif not math.isfinite(value):
            idle.append(TermRecord.of(term.spec, value=None, skipped="its value is NaN or infinite"))
        elif value <= satisfied or term.value is None or not term.value.requires_grad:
            idle.append(TermRecord.of(term.spec, value=value))
        else:
            (gradient,) = torch.autograd.grad(term.value, pixels, retain_graph=True)
            active.append(Active(spec=term.spec, region=term.region, value=value, pixels=gradient))
    return Preview(
        event=event,
        window=window,
        latents=latents,
        frame=frame,
        active=tuple(active),
        idle=tuple(idle),
        regions={term.spec.label: term.region for term in measured if term.value is not None},
    )


def shrink(latents: Tensor, factor: int) -> Tensor:
    """[1, C, F, H, W] with height and width divided by `factor`."""
    if factor == 1:
        return latents
    return F.avg_pool3d(latents, (1, factor, factor))


def _values(measured: tuple[Measured, ...]) -> list[float | None]:
    """All values of one preview in one transfer from the device."""
    known = [term.value.detach() for term in measured if term.value is not None]
    numbers = iter(torch.stack(known).tolist() if known else [])
    return [None if term.value is None else next(numbers) for term in measured]

"""The slice of the clean latent around an anchor, decoded and measured, and the way back to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.guidance.measurement import Measured
from physplan.guidance.objective import Objective
from physplan.guidance.paper.regions import pool
from physplan.guidance.paper.selection import TermSpec
from physplan.guidance.records import TermRecord, seconds
from physplan.video.frames import Window

Cotangent = Mapping[str, Tensor]  # a gradient at what an objective has encoded, by name


@dataclass(frozen=True, kw_only=True, eq=False)
class PreviewRequest:
    """A frame to decode, and what it is measured by."""

    objective: Objective
    event: int
    window: Window
    anchor: bool = True  # whether the frame is the event's own


def anchors_of(objective: Objective, windows: Mapping[int, Window]) -> list[PreviewRequest]:
    """Every event's own frame."""
    return [
        PreviewRequest(objective=objective, event=event, window=window) for event, window in windows.items()
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Active:
    """A term that has something to say about this preview; it holds no graph."""

    spec: TermSpec
    region: Tensor | None  # on the latent grid [h, w]; None is everywhere
    value: float
    gradient: Cotangent  # at what it reads: the features, the nearness, the frame

    @property
    def norm(self) -> Tensor:
        norm: Tensor = torch.stack([part.norm() for part in self.gradient.values()]).norm()
        return norm


@dataclass(frozen=True, kw_only=True, eq=False)
class Preview:
    """x_i = D(z_{0|t}[J_i]), its terms, and the graph from the latent slice to what the terms read."""

    event: int
    window: Window
    latents: Tensor  # the detached slice [1, C, length, H, W], a leaf
    frame: Tensor  # [3, H, W]
    encoded: Mapping[str, Tensor]
    active: tuple[Active, ...]
    idle: tuple[TermRecord, ...]  # terms without a gradient: satisfied or skipped
    regions: Mapping[str, Tensor | None]  # on the latent grid, of every measured term, by event and term
    decoding_seconds: float  # what D took

    def back(self, cotangent: Cotangent, *, again: bool = False) -> Tensor:
        """Pass back through encoder and decoder to the latent slice; `again` when more passes follow."""
        (gradient,) = torch.autograd.grad(
            [self.encoded[name] for name in cotangent],
            self.latents,
            list(cotangent.values()),
            retain_graph=again,
        )
        return gradient


def decode_and_measure(
    decoder: Any,
    clean: Tensor,
    request: PreviewRequest,
    *,
    downscale: int = 1,
    limit: Callable[[str], float] = lambda term: 0.0,
) -> Preview:
    """Decode the window's frame from `clean` (detached), by a model or its small decoder, and measure it."""
    event, window, objective = request.event, request.window, request.objective
    latents = clean[:, :, window.latents].clone().requires_grad_()
    begun = seconds(latents.device)
    with torch.enable_grad():
        frame = decoder.decode_window(shrink(latents, downscale), window)
        decoded = seconds(latents.device)
        encoded = objective.encode(event, frame)
        leaves = {name: tensor.detach().requires_grad_() for name, tensor in encoded.items()}
        measured = objective.measure(event, leaves)
    size = (latents.shape[-2], latents.shape[-1])
    regions = {m.spec: None if m.region is None else pool(m.region, size) for m in measured}
    active, idle = [], []
    for term, value in zip(measured, _values(measured), strict=True):
        if value is None:
            idle.append(TermRecord.of(term.spec, value=None, skipped=term.skipped))
        elif not math.isfinite(value):
            idle.append(TermRecord.of(term.spec, value=None, skipped="its value is NaN or infinite"))
        elif value <= limit(term.spec.name) or term.value is None or not term.value.requires_grad:
            idle.append(TermRecord.of(term.spec, value=value))
        else:
            gradient = _gradient(term.value, leaves)
            active.append(Active(spec=term.spec, region=regions[term.spec], value=value, gradient=gradient))
    return Preview(
        event=event,
        window=window,
        latents=latents,
        frame=frame,
        encoded=encoded,
        active=tuple(active),
        idle=tuple(idle),
        decoding_seconds=decoded - begun,
        regions={term.spec.label: regions[term.spec] for term in measured if term.value is not None},
    )


def add(cotangents: Iterable[Cotangent]) -> Cotangent:
    """The sum, by name."""
    total: dict[str, Tensor] = {}
    for cotangent in cotangents:
        for name, part in cotangent.items():
            total[name] = total[name] + part if name in total else part
    return total


def scale(cotangent: Cotangent, factor: Tensor | float) -> Cotangent:
    return {name: factor * part for name, part in cotangent.items()}


def shrink(latents: Tensor, factor: int) -> Tensor:
    """[1, C, F, H, W] with height and width divided by `factor`."""
    if factor == 1:
        return latents
    return F.avg_pool3d(latents, (1, factor, factor))


def _gradient(value: Tensor, leaves: Mapping[str, Tensor]) -> Cotangent:
    parts = torch.autograd.grad(value, list(leaves.values()), retain_graph=True, allow_unused=True)
    return {name: part for name, part in zip(leaves, parts, strict=True) if part is not None}


def _values(measured: tuple[Measured, ...]) -> list[float | None]:
    """All values of one preview in one transfer from the device."""
    known = [term.value.detach() for term in measured if term.value is not None]
    numbers = iter(torch.stack(known).tolist() if known else [])
    return [None if term.value is None else next(numbers) for term in measured]

"""Sparse gradients for networks applied frame by frame: backward runs only for frames with a gradient.

Guidance measures a few frames of a clip, so most frames have zero gradient. The forward pass stores no
activations; the backward pass recomputes the network for the frames that need it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

#: (clips [B, C, F, h, w], frame indices [k]) -> outputs [B, C, k, h, w]
Answer = Callable[[Tensor, Tensor], Tensor]


def by_frame(answer: Answer, clips: Tensor) -> Tensor:
    """Outputs for all frames [B, C, F, h, w]."""
    if torch.is_grad_enabled() and clips.requires_grad:
        found: Tensor = _ByFrame.apply(clips, answer)
        return found
    return answer(clips, all_of(clips))


def all_of(clips: Tensor) -> Tensor:
    return torch.arange(clips.shape[2], device=clips.device)


class _ByFrame(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, clips: Tensor, answer: Answer) -> Tensor:
        ctx.answer = answer
        ctx.save_for_backward(clips)
        return answer(clips, all_of(clips))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (clips,), (gradient,) = ctx.saved_tensors, gradients
        frames = gradient.abs().amax(dim=(0, 1, 3, 4)).nonzero().flatten()
        if not len(frames):
            return torch.zeros_like(clips), None
        with torch.enable_grad():
            again = clips.detach().requires_grad_()
            found = ctx.answer(again, frames)
            (passed,) = torch.autograd.grad(found, again, gradient[:, :, frames])
        return passed, None

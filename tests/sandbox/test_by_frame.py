"""Gradients through a network that answers frame by frame."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan_sandbox.models.by_frame import all_of, by_frame
from physplan_sandbox.models.drawing import DrawingNet

asked: list[list[int]] = []


def answer(clips: Tensor, frames: Tensor) -> Tensor:
    """Of a frame and the one before."""
    asked.append(frames.tolist())
    before = torch.cat([torch.zeros_like(clips[:, :, :1]), clips], dim=2)
    return torch.sin(clips[:, :, frames]) * (1 + before[:, :, frames])


def a_clip() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(1, 2, 6, 3, 3, generator=generator, dtype=torch.float64)


def test_gradients_are_those_of_the_whole_clip() -> None:
    clip, weight = a_clip().requires_grad_(), torch.zeros(1, 2, 6, 3, 3, dtype=torch.float64)
    weight[:, :, 2], weight[:, :, 5] = 0.7, -1.3
    (found,) = torch.autograd.grad((by_frame(answer, clip) * weight).sum(), clip)
    (whole,) = torch.autograd.grad((answer(clip, all_of(clip)) * weight).sum(), clip)
    torch.testing.assert_close(found, whole, rtol=0, atol=0)
    assert torch.autograd.gradcheck(lambda x: by_frame(answer, x), (a_clip().requires_grad_(),))


def test_only_frames_that_matter_are_looked_at_again() -> None:
    clip = a_clip().requires_grad_()
    asked.clear()
    by_frame(answer, clip)[:, :, 4].sum().backward()
    assert asked == [[0, 1, 2, 3, 4, 5], [4]]
    reached = clip.grad.abs().sum(dim=(0, 1, 3, 4)).nonzero().flatten().tolist()
    assert reached == [3, 4]


def test_a_loss_of_nothing_looks_at_nothing_again() -> None:
    clip = a_clip().requires_grad_()
    asked.clear()
    (0.0 * by_frame(answer, clip)).sum().backward()
    assert len(asked) == 1
    assert not clip.grad.any()


def test_without_gradients_it_is_one_look() -> None:
    asked.clear()
    with torch.no_grad():
        by_frame(answer, a_clip().requires_grad_())
    by_frame(answer, a_clip())
    assert len(asked) == 2


def test_the_neighbours_of_some_frames_are_those_they_have_in_the_clip() -> None:
    network, clip = DrawingNet(), torch.randn(1, 24, 9, 2, 2)
    whole = network.neighbours(clip)
    torch.testing.assert_close(network.neighbours(clip, torch.tensor([2, 8])), whole[[2, 8]], rtol=0, atol=0)

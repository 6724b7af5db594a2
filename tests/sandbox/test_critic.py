"""The critic that keeps decoded edges sharp: one loss, in which neither side learns the other's part."""

from __future__ import annotations

import torch
from torch import Tensor

from physplan_sandbox.train.critic import ADVERSARIAL_WEIGHT, Critic, adversarial_loss


def pictures() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    found, frames, first = (torch.rand(4, 3, 48, 48) * 2 - 1 for _ in range(3))
    return found.requires_grad_(), frames, first


def test_the_critic_pulls_at_pixels_with_its_share_of_the_errors_strength() -> None:
    found, frames, first = pictures()
    error = (found - frames).square().mean()
    by_error = torch.autograd.grad(error, found, retain_graph=True)[0]
    both = torch.autograd.grad(adversarial_loss(Critic(), error, found, frames, first), found)[0]
    assert torch.isclose((both - by_error).norm(), ADVERSARIAL_WEIGHT * by_error.norm(), rtol=1e-3)


def test_the_critic_learns_to_tell_the_true_from_the_decoded_and_not_to_please_the_decoder() -> None:
    found, frames, first = pictures()
    critic = Critic()

    def gap() -> float:
        with torch.no_grad():
            return float((critic(frames, first) - critic(found, first)).mean())

    before, optimizer = gap(), torch.optim.Adam(critic.parameters(), lr=2e-3)
    for _ in range(15):
        error = (found - frames).square().mean()
        optimizer.zero_grad()
        adversarial_loss(critic, error, found, frames, first).backward()
        optimizer.step()
    assert gap() > before + 0.05


def test_a_critic_marks_the_same_frame_otherwise_beside_another_picture() -> None:
    found, frames, first = pictures()
    critic = Critic().eval()
    assert not torch.allclose(critic(frames, first), critic(frames, found.detach()))

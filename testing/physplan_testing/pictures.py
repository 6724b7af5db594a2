"""Drawn pictures with exact masks, an encoder that sees colour, and a decoder that paints."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.graph import EventChain
from physplan.perception import Evidence, KeyframeEvidence, normalise_depth

BACKGROUND = (0.55, 0.55, 0.5)


class ColourFeatures:
    """Random Fourier features of the mean colour of each cell.

    Cosine similarity is then the mean of two Gaussians of the colours' distance: a narrow one that tells
    colours apart, and a wide one that pulls distant colours towards each other.
    """

    def __init__(
        self, *, channels: int = 256, widths: tuple[float, ...] = (0.15, 0.4), stride: int = 2, seed: int = 0
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.stride = stride
        each = [torch.randn(channels // len(widths), 3, generator=generator) / width for width in widths]
        self.directions = torch.cat(each)
        self.phases = torch.rand(len(self.directions), generator=generator) * 2 * math.pi

    def __call__(self, images: Tensor) -> Tensor:
        colours = F.avg_pool2d(images, self.stride)
        turned = torch.einsum("kc,bchw->bkhw", self.directions.to(colours), colours)
        return torch.cos(turned + self.phases.to(colours)[None, :, None, None])


def ground_depth(images: Tensor) -> Tensor:
    """A floor seen from above: lower in the picture is nearer; what is bright is a little nearer."""
    rows = torch.linspace(0, 1, images.shape[-2], dtype=images.dtype, device=images.device)
    return rows[:, None] + 0.01 * images.mean(1)


def disc(size: tuple[int, int], x: float, y: float, radius: float) -> Tensor:
    """A filled circle, bool [H, W], drawn in blocks of two pixels so that no cell of the encoder is mixed."""
    rows = 2 * torch.arange(size[0] // 2)[:, None] + 1
    columns = 2 * torch.arange(size[1] // 2)[None] + 1
    inside = (rows - y) ** 2 + (columns - x) ** 2 <= radius**2
    return inside.repeat_interleave(2, 0).repeat_interleave(2, 1)


def box(size: tuple[int, int], left: int, top: int, right: int, bottom: int) -> Tensor:
    """A filled rectangle, bool [H, W]."""
    mask = torch.zeros(size, dtype=torch.bool)
    mask[top:bottom, left:right] = True
    return mask


def paint(size: tuple[int, int], *layers: tuple[Tensor, tuple[float, float, float]]) -> Tensor:
    """Masks in their colours, later ones in front, on a plain ground: [3, H, W]."""
    image = torch.tensor(BACKGROUND)[:, None, None].repeat(1, *size)
    for mask, colour in layers:
        image = torch.where(mask, torch.tensor(colour)[:, None, None], image)
    return image


class Painter:
    """The smallest possible decoder: every pixel blends a few known colours, by the softmax of its latent.

    It can only draw what the scene is made of, as a trained decoder does: an object that is pushed away gives
    way to the ground behind it, not to a colour that exists nowhere.
    """

    def __init__(self, *pictures: Tensor, sure: float = 2.0) -> None:
        pixels = torch.cat([picture.flatten(1).T for picture in pictures])
        colours, counts = torch.unique(pixels, dim=0, return_counts=True)
        self.colours = colours[counts.argsort(descending=True)]  # [M, 3], the ground first
        self.sure = sure

    def encode(self, picture: Tensor) -> Tensor:
        """[3, H, W] to a latent [M, H, W]: certain of its colour, the ground second, the rest far behind."""
        distance = (self.colours[:, :, None, None] - picture[None]).abs().amax(1)
        latent = torch.where(distance < 1e-3, self.sure, -self.sure)
        latent[0].clamp_min_(0.0)
        return latent

    def decode(self, latent: Tensor, sharpness: float = 1.0) -> Tensor:
        """The picture; a growing `sharpness` makes each pixel decide for a colour, as denoising does."""
        return torch.einsum("mhw,mc->chw", (sharpness * latent).softmax(0), self.colours)


def look_at(image: Tensor, masks: dict[str, Tensor], missing: tuple[str, ...] = ()) -> KeyframeEvidence:
    depth = normalise_depth(ground_depth(image[None]))[0]
    return KeyframeEvidence(image=image, masks=masks, depth=depth, missing=missing)


def evidence_of(
    chain: EventChain, first: tuple[Tensor, dict[str, Tensor]], *keyframes: tuple[Tensor, dict[str, Tensor]]
) -> Evidence:
    """Evidence from pictures whose masks are known."""
    seen = []
    for event, (image, masks) in zip(chain.events, keyframes, strict=True):
        missing = tuple(node.id for node in event.graph.nodes if node.id not in masks)
        seen.append(look_at(image, masks, missing))
    return Evidence(first=look_at(*first), keyframes=tuple(seen))

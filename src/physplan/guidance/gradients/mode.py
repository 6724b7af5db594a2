"""What the gradient modes have in common: what they are asked for, the weights of eq. 10, and the records."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.paper.update import finite, region_weights
from physplan.guidance.previews import Active, Cotangent, Preview
from physplan.guidance.records import TermRecord

T = TypeVar("T")


def countdown(items: Sequence[T]) -> Iterator[tuple[int, T]]:
    """Each item with how many are left after it: a graph is let go with the last pass through it."""
    return zip(range(len(items))[::-1], items, strict=True)


@dataclass(kw_only=True, eq=False)
class TermLog:
    """What became of the terms of one repeat."""

    norms: list[tuple[Active, Tensor]] = field(default_factory=list)
    idle: list[TermRecord] = field(default_factory=list)
    broken: list[Tensor] = field(default_factory=list)  # whether a pass shared by terms gave NaN or infinity

    def shared(self, gradient: Tensor) -> Tensor:
        """A gradient that all terms of a pass share; if it is broken, all of them are skipped."""
        self.broken.append(~gradient.norm().isfinite())
        return finite(gradient)

    def records(self) -> tuple[TermRecord, ...]:
        """All norms of one repeat in one transfer from the device."""
        if not self.norms:
            return tuple(self.idle)
        numbers = torch.stack([norm for _, norm in self.norms] + [b.float() for b in self.broken]).tolist()
        norms, broken = numbers[: len(self.norms)], any(numbers[len(self.norms) :])
        made = list(self.idle)
        for (term, _), norm in zip(self.norms, norms, strict=True):
            fine = math.isfinite(norm) and not broken
            made.append(
                TermRecord.of(
                    term.spec,
                    value=term.value,
                    gradient_norm=norm,
                    skipped=None if fine else "its gradient is NaN or infinite",
                )
            )
        return tuple(made)


class Mode(ABC):
    """One repeat: every preview is added, then the gradient is asked for."""

    through_denoiser: ClassVar[bool]  # whether the gradient is taken at z_t, or at z0

    def __init__(self, config: GuidanceConfig, clean: Tensor, *, outside: float, frozen: int) -> None:
        self.config, self.outside, self.frozen = config, outside, frozen
        self.at_clean = torch.zeros_like(clean)  # what is summed at z0
        self.log = TermLog()

    @abstractmethod
    def add(self, preview: Preview) -> None:
        """Bring one anchor's terms to z0; the preview's graph is gone afterwards."""

    @abstractmethod
    def gradient(self, z: Tensor, clean: Tensor) -> Tensor:
        """g from all that was added."""

    def back(self, preview: Preview, cotangent: Cotangent, *, again: bool = False) -> Tensor:
        """To the preview's latents, of which the given picture's own are not moved."""
        gradient = preview.back(cotangent, again=again)
        gradient[:, :, : max(0, self.frozen - preview.window.latents.start)] = 0
        return gradient

    def weights(self, term: Active, like: Tensor) -> Tensor:
        """Omega_k + lambda (1 - Omega_k) on the latent grid, the same for all leading axes."""
        if self.outside == 1 or term.region is None:
            return like.new_ones(like.shape[-2:])
        return region_weights(term.region, self.outside)

    def union_weights(self, terms: Sequence[Active], like: Tensor) -> Tensor:
        """The weights of the union of the terms' regions."""
        if not terms:
            return like.new_ones(like.shape[-2:])
        return torch.stack([self.weights(term, like) for term in terms]).amax(0)

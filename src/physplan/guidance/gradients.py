"""From the terms to one update direction of the latent: `exact`, `fused` and `direct`.

The graph is cut at z0: each anchor's terms are passed back to a detached slice of the clean latent before the
next anchor is decoded, so memory does not grow with the number of events. What then reaches z_t:

- `exact`, eq. 10: every term passes back through the denoiser alone, is normalised and weighted at z_t;
- `fused`: terms are normalised and weighted at z0, and their sum passes back once; the result keeps the
  length of that sum, so the step size means the same in every mode;
- `direct`: that sum is the direction; the denoiser is not passed at all. It does not depend on abar, so the
  first step of a schedule with zero terminal SNR needs no exception.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.previews import Active, Look, Preview, add, look, scale
from physplan.guidance.records import TermRecord
from physplan.guidance.regions import pool
from physplan.guidance.update import finite, normalised, region_weights, with_norm_of
from physplan.video.frames import Window
from physplan.video.protocol import Conditioning, VideoModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Direction:
    """g of algorithm 1, with what it was made from."""

    gradient: Tensor  # [1, C, F, H, W]; the latent moves by -eta times this
    prediction: Tensor  # the denoiser's, detached, for a reverse step that does not evaluate it again
    clean: Tensor  # z_{0|t}, detached
    terms: tuple[TermRecord, ...]
    previews: Mapping[int, Tensor]
    regions: Mapping[str, Tensor | None]  # by event and term


@dataclass(kw_only=True, eq=False)
class _Collected:
    """What the anchors of one repeat have given so far."""

    cotangent: Tensor  # at z0: the sum of all that is combined there
    apart: list[tuple[Active, Window, Tensor]] = field(default_factory=list)  # exact: not combined yet
    norms: list[tuple[Active, Tensor]] = field(default_factory=list)
    idle: list[TermRecord] = field(default_factory=list)
    broken: list[Tensor] = field(default_factory=list)  # whether a pass shared by terms gave NaN or infinity

    def shared(self, gradient: Tensor) -> Tensor:
        """A gradient that all terms of a pass share; if it is broken, all of them are skipped."""
        self.broken.append(~gradient.norm().isfinite())
        return finite(gradient)


def direction(
    model: VideoModel,
    conditioning: Conditioning,
    z: Tensor,
    n: int,
    *,
    looks: Sequence[Look],
    config: GuidanceConfig,
    weighted: bool,
    progress: float,
) -> Direction:
    """The update direction at step n from what is looked at; regions count only if `weighted`."""
    passes = config.gradient != "direct"
    z = z.detach().requires_grad_(passes)
    both = config.unconditional_grad or not passes  # without gradients one batch of both branches is faster
    with torch.set_grad_enabled(passes):
        prediction = model.predict(z, n, conditioning, unconditional_grad=both)
        clean = conditioning.noise.clean_estimate(z, prediction, n)
    outside = config.outside_weight if weighted else 1.0
    collected = _Collected(cotangent=torch.zeros_like(clean))
    previews: dict[int, Tensor] = {}
    regions: dict[str, Tensor | None] = {}
    for at in looks:
        preview = look(
            model,
            clean.detach(),
            at,
            progress=progress,
            downscale=config.preview_downscale,
            satisfied=config.measure.satisfied,
        )
        _collect(collected, preview, config, outside, conditioning.noise.frozen)
        if at.anchor:
            previews[at.event] = preview.frame.detach()
        regions |= preview.regions
        del preview  # its graph goes before the next anchor is decoded
    gradient = _pass_back(collected, z, clean, config, outside)
    gradient[:, :, : conditioning.noise.frozen] = 0
    return Direction(
        gradient=gradient,
        prediction=prediction.detach(),
        clean=clean.detach(),
        terms=_records(collected),
        previews=previews,
        regions=regions,
    )


def _collect(
    collected: _Collected, preview: Preview, config: GuidanceConfig, outside: float, frozen: int
) -> None:
    """Bring one anchor's terms to z0: apart for `exact`; joined as they are, or each with the same length."""
    collected.idle += preview.idle
    terms, place = preview.active, preview.window.latents
    given = max(0, frozen - place.start)  # the picture's own latents are not moved
    if config.normalise == "whole":
        collected.cotangent[:, :, place] += _join(collected, preview, given)[0]
        return
    weighs = config.gradient == "direct" or config.weight_at != "noisy"
    if config.gradient != "exact" and config.combine_at == "features":
        joined, used = _join(collected, preview, given, unit=True)
        length = math.sqrt(sum(term.spec.weight**2 for term in used))  # as if the terms were orthogonal
        joined = length * normalised(joined)
        collected.cotangent[:, :, place] += (
            _union_weights(used, joined, outside) * joined if weighs else joined
        )
        return
    for left, term in zip(range(len(terms))[::-1], terms, strict=True):
        gradient = preview.back(term.gradient, again=left > 0)
        gradient[:, :, :given] = 0
        if config.gradient == "exact":
            collected.apart.append((term, preview.window, gradient))
            continue
        collected.norms.append((term, gradient.norm()))
        alone = term.spec.weight * normalised(gradient)
        collected.cotangent[:, :, place] += _weights(term, alone, outside) * alone if weighs else alone


def _join(
    collected: _Collected, preview: Preview, given: int, *, unit: bool = False
) -> tuple[Tensor, list[Active]]:
    """The sum of the sound terms at the latent slice, in one pass; with `unit` each is normalised first."""
    norms = [(term, term.norm) for term in preview.active]
    collected.norms += norms
    sound = [(term, norm) for term, norm in norms if norm.isfinite() and norm > 0]
    if not sound:
        return torch.zeros_like(preview.latents), []
    total = add(
        scale(term.gradient, term.spec.weight / norm if unit else term.spec.weight) for term, norm in sound
    )
    gradient = collected.shared(preview.back(total))
    gradient[:, :, :given] = 0
    return gradient, [term for term, _ in sound]


def _pass_back(
    collected: _Collected, z: Tensor, clean: Tensor, config: GuidanceConfig, outside: float
) -> Tensor:
    """From z0 to z_t, through the denoiser or not."""
    total = torch.zeros_like(clean)
    for left, (term, window, gradient) in zip(
        range(len(collected.apart))[::-1], collected.apart, strict=True
    ):
        cotangent = torch.zeros_like(clean)
        cotangent[:, :, window.latents] = gradient
        (noisy,) = torch.autograd.grad(clean, z, cotangent, retain_graph=left > 0)
        collected.norms.append((term, noisy.norm()))
        total += term.spec.weight * _weights(term, noisy, outside) * normalised(noisy)
    if collected.apart or not collected.norms:
        return total
    if config.gradient == "direct":
        return normalised(collected.cotangent) if config.normalise == "whole" else collected.cotangent
    (noisy,) = torch.autograd.grad(clean, z, collected.cotangent)
    noisy = collected.shared(noisy)
    if config.normalise == "whole":
        return normalised(noisy)
    noisy = with_norm_of(noisy, collected.cotangent)
    if config.weight_at == "clean":
        return noisy
    return _union_weights([term for term, _ in collected.norms], noisy, outside) * noisy


def _union_weights(terms: Sequence[Active], like: Tensor, outside: float) -> Tensor:
    """The weights of the union of the terms' regions."""
    if not terms:
        return like.new_ones(like.shape[-2:])
    return torch.stack([_weights(term, like, outside) for term in terms]).amax(0)


def _weights(term: Active, gradient: Tensor, outside: float) -> Tensor:
    """Omega_k + lambda (1 - Omega_k) on the grid of `gradient` [..., h, w], the same for all leading axes."""
    size = (gradient.shape[-2], gradient.shape[-1])
    region = term.region
    if outside == 1 or region is None:
        return gradient.new_ones(size)
    return region_weights(pool(region, size), outside)


def _records(collected: _Collected) -> tuple[TermRecord, ...]:
    """All norms of one repeat in one transfer from the device."""
    if not collected.norms:
        return tuple(collected.idle)
    numbers = torch.stack(
        [norm for _, norm in collected.norms] + [b.float() for b in collected.broken]
    ).tolist()
    norms, broken = numbers[: len(collected.norms)], any(numbers[len(collected.norms) :])
    made = list(collected.idle)
    for (term, _), norm in zip(collected.norms, norms, strict=True):
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

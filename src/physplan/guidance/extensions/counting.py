"""Eq. 6 in other forms: logarithms, matched instances filled too, specks and hidden parts left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.guidance.config import MeasureConfig
from physplan.guidance.extensions.lookalikes import grown
from physplan.guidance.paper import terms
from physplan.guidance.paper.instances import Instances, averages
from physplan.guidance.paper.occupancy import EPSILON

if TYPE_CHECKING:
    from physplan.guidance.comparison import DetailedComparison
    from physplan.guidance.measurement import ConfiguredInputs


def count(inputs: ConfiguredInputs) -> Tensor | None:
    """Of one object; None when nothing is to be suppressed or filled, whatever the occupancy."""
    (seen,) = inputs.objects.values()
    config, parts = inputs.config, []
    if extra := copies(seen, config):
        if config.suppress == "occupancy":
            parts.append(terms.suppress(seen.occupancy, seen.preview, extra))
        else:
            parts.append(suppress_log(seen.logits, seen.preview, extra))
    alike = cells_alike(inputs.features, inputs.target.features) if config.fill == "cells" else None
    if missing := to_fill(seen, config, alike):
        if config.fill == "occupancy":
            parts.append(terms.fill(seen.occupancy, seen.target, seen.keyframe, missing))
        elif alike is not None:
            parts.append(averages(1 - alike, seen.keyframe)[list(missing)].sum())
        else:
            parts.append(fill_log(seen.logits, seen.target_logits, seen.keyframe, missing))
    return torch.stack(parts).sum() if parts else None


def to_fill(seen: DetailedComparison, config: MeasureConfig, alike: Tensor | None = None) -> tuple[int, ...]:
    """The keyframe instances to fill: those without a partner, or all of them if the settings say so.

    With `alike` [h, w], an instance is filled where its cells are so much alike, whatever their occupancy.
    """
    matched = config.fill_matched == "all" or (config.fill_matched == "spawned" and seen.spawned)
    wanted = tuple(range(len(seen.keyframe))) if matched else seen.matching.missing
    if config.filled == 1 or not wanted:
        return wanted
    if alike is None:
        shares = reached(seen.occupancy.detach(), seen.target, seen.keyframe)
    else:
        shares = averages(alike.detach(), seen.keyframe).tolist()
    return tuple(l for l in wanted if shares[l] < config.filled)


def copies(seen: DetailedComparison, config: MeasureConfig) -> tuple[int, ...]:
    """The extra instances to suppress: not specks, nor parts of the object that something hides."""
    if config.smallest_extra == 0:
        return seen.matching.extra
    least = max(config.smallest_extra * seen.area, 1.0)
    on_object = grown(seen.keyframe.labels > 0)
    return tuple(
        j
        for j in seen.matching.extra
        if seen.preview.areas[j] > least and on_object[seen.preview.mask(j)].mean() < 0.5
    )


def suppress_log(logits: Tensor, preview: Instances, extra: Sequence[int]) -> Tensor:
    """`terms.suppress` with -log(1 - Phi) for Phi: its slope does not vanish inside a confident instance."""
    return averages(F.softplus(logits), preview)[list(extra)].sum()


def fill_log(logits: Tensor, target: Tensor, keyframe: Instances, missing: Sequence[int]) -> Tensor:
    """`terms.fill` as sum_l avg_{Q_l} max(0, log Phi* - log Phi), from the two maps of logits.

    In eq. 6 the cells that already look a little like the object take nearly all of the gradient, because
    Phi' is close to Phi / tau where Phi is small (A.6). Here every empty cell of Q_l gets the same share.
    """
    gap = F.softplus(-logits) - F.softplus(-target)
    return averages(gap.clamp_min(0), keyframe)[list(missing)].sum()


def cells_alike(features: Tensor, target: Tensor) -> Tensor:
    """cos(F(x), F(I)) of every cell [h, w]: low for a pale trace, of which occupancy is near 1."""
    return F.cosine_similarity(features, target, dim=0, eps=EPSILON)


def reached(occupancy: Tensor, target: Tensor, keyframe: Instances) -> list[float]:
    """Of every keyframe instance, the share of its occupancy that the preview has there or a cell beside."""
    near = F.max_pool2d(occupancy[None], 3, stride=1, padding=1)[0]
    shares = averages(near, keyframe) / (averages(target, keyframe) + EPSILON)
    found: list[float] = shares.tolist()
    return found

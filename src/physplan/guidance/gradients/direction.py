"""The update direction of one repeat, in any gradient mode.

The graph is cut at z0: each anchor's terms are passed back to a detached slice of the clean latent before the
next anchor is decoded, so memory does not grow with the number of events. What happens to these slices is
the gradient mode's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from physplan.guidance.config import GuidanceConfig
from physplan.guidance.extensions.gradients.direct import Direct
from physplan.guidance.extensions.gradients.fused import Fused
from physplan.guidance.extensions.gradients.whole import Whole
from physplan.guidance.gradients.exact import Exact
from physplan.guidance.gradients.mode import Mode
from physplan.guidance.previews import PreviewRequest, decode_and_measure
from physplan.guidance.records import TermRecord
from physplan.video.protocol import Conditioning, VideoModel

MODES: Mapping[str, type[Mode]] = {"exact": Exact, "fused": Fused, "direct": Direct}


@dataclass(frozen=True, kw_only=True, eq=False)
class Direction:
    """g of algorithm 1, with what it was made from."""

    gradient: Tensor  # [1, C, F, H, W]; the latent moves by -eta times this
    prediction: Tensor  # the denoiser's, detached, for a reverse step that does not evaluate it again
    clean: Tensor  # z_{0|t}, detached
    terms: tuple[TermRecord, ...]
    previews: Mapping[int, Tensor]
    regions: Mapping[str, Tensor | None]  # by event and term
    decoding_seconds: float  # of all its previews


def direction(
    model: VideoModel,
    conditioning: Conditioning,
    z: Tensor,
    n: int,
    *,
    requests: Sequence[PreviewRequest],
    config: GuidanceConfig,
    weighted: bool,
) -> Direction:
    """The update direction at step n from the requested previews; regions count only if `weighted`."""
    kind = Whole if config.normalise == "whole" else MODES[config.gradient]
    frozen = conditioning.noise.frozen
    z = z.detach().requires_grad_(kind.through_denoiser)
    both = config.unconditional_grad or not kind.through_denoiser  # without gradients one batch is faster
    with torch.set_grad_enabled(kind.through_denoiser):
        prediction = model.predict(z, n, conditioning, unconditional_grad=both)
        clean = conditioning.noise.clean_estimate(z, prediction, n)
    mode = kind(config, clean, outside=config.outside_weight if weighted else 1.0, frozen=frozen)
    decoder = model if config.decoder == "full" else model.tiny  # type: ignore[attr-defined]
    previews: dict[int, Tensor] = {}
    regions: dict[str, Tensor | None] = {}
    decoding = 0.0
    for request in requests:
        preview = decode_and_measure(
            decoder, clean.detach(), request, downscale=config.preview_downscale, limit=config.measure.limit
        )
        mode.log.idle += preview.idle
        mode.add(preview)
        if request.anchor:
            previews[request.event] = preview.frame.detach()
        regions |= preview.regions
        decoding += preview.decoding_seconds
        del preview  # its graph goes before the next anchor is decoded
    gradient = mode.gradient(z, clean)
    gradient[:, :, :frozen] = 0
    return Direction(
        gradient=gradient,
        prediction=prediction.detach(),
        clean=clean.detach(),
        terms=mode.log.records(),
        previews=previews,
        regions=regions,
        decoding_seconds=decoding,
    )

"""Bystanders held without decoding: all latents at once against those of a clip in which nothing moves."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from physplan.guidance.extensions.bystanders import KeepBystanders
from physplan.guidance.measurement import Measured
from physplan.guidance.paper.selection import TermSpec
from physplan.guidance.previews import PreviewRequest
from physplan.video.frames import FrameLayout, Window

TOLERANCE = 0.1  # of the still clip's spread: differences up to this are the autoencoder's


class KeepLatents:
    """`KeepBystanders` in latent space: one term for the whole video, without decoder and encoder."""

    def __init__(self, kept: KeepBystanders, still: Tensor, layout: FrameLayout) -> None:
        """`kept` has its places on the latents' grid; `still` [1, C, n, h, w] is the first frame, encoded."""
        self.still = still[:, :, layout.video]
        self.tolerance = TOLERANCE * float(self.still.std())
        events = [kept.event_at(frame) for frame in range(0, layout.num_frames, layout.ratio)]
        places = torch.stack([_inside(kept.places[event]) for event in events])
        self.places = places[: self.still.shape[2]]  # [n, h, w]
        self.spec = TermSpec(event=0, name="keep", objects=kept.specs[0].objects)
        last = layout.num_frames - 1
        self.window = Window(frame=last, latents=layout.video, index=last)

    def request(self) -> PreviewRequest:
        return PreviewRequest(objective=self, event=0, window=self.window, anchor=False, decoded=False)

    def encode(self, event: int, frame: Tensor) -> dict[str, Tensor]:
        return {"latents": frame}

    def measure(self, event: int, encoded: Mapping[str, Tensor]) -> tuple[Measured, ...]:
        if not self.places.any():
            return (Measured(spec=self.spec, skipped="every object is changed, or touches one that is"),)
        beyond = ((encoded["latents"] - self.still).abs() - self.tolerance).clamp_min(0)
        value = (beyond[0].mean(0) * self.places).sum() / self.places.sum()
        return (Measured(spec=self.spec, value=value, region=self.places.amax(0)),)


def _inside(place: Tensor) -> Tensor:
    """1 in cells [h, w] that are bystander all over, as their neighbours are: latents see beyond cells."""
    return (-F.max_pool2d(-place[None], 3, stride=1, padding=1)[0] > 0.999).float()

"""Gemini's image model as the editor, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from physplan.calls.cost_estimate import CallsOut
from physplan.calls.gateway import Gateway
from physplan.keyframes.framing import cut_out, nearest_ratio, pad_to_ratio
from physplan.keyframes.protocol import EditRequest
from physplan_models.keyframes.calling import CallingEditor

RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")


class GeminiEditor(CallingEditor):
    """`image_size` is the model's own scale ("1K", "2K", "4K"); it decides the price."""

    calls_out = CallsOut(
        provider="gemini",
        model="gemini-3-pro-image-preview",
        calls=lambda events: events,
        tokens=(1500, 200),
        images=1,
    )

    def __init__(self, gateway: Gateway, *, model: str = calls_out.model, image_size: str = "1K") -> None:
        super().__init__(gateway, model=model)
        self.image_size = image_size

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"editor": "gemini", "model": self.model, "image_size": self.image_size}

    def edit(self, request: EditRequest) -> Image.Image:
        ratio = nearest_ratio(request.image.size, RATIOS)
        # A picture of another shape would come back reframed, and every mask would be off.
        padded, place = pad_to_ratio(request.image, ratio)
        drawn = self.ask(request, padded, {"aspect_ratio": ratio, "image_size": self.image_size})
        return cut_out(drawn, place, request.image.size)

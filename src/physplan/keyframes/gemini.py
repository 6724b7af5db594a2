"""Gemini's image model as the editor, as in the paper. The gateway stores, prices and retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from physplan.calls.gateway import Gateway
from physplan.calls.outlay import CallsOut
from physplan.calls.protocol import Request
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError
from physplan.keyframes.framing import cut_out, nearest_ratio, pad_to_ratio
from physplan.keyframes.protocol import EditRequest, NoPicture
from physplan.pictures import decode_picture
from physplan.reasoning.picture import Picture

RATIOS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")


class GeminiEditor:
    """`image_size` is the model's own scale ("1K", "2K", "4K"); it decides the price."""

    calls_out = CallsOut(
        provider="gemini",
        model="gemini-3-pro-image-preview",
        calls=lambda events: events,
        tokens=(1500, 200),
        images=1,
    )

    def __init__(self, gateway: Gateway, *, model: str = calls_out.model, image_size: str = "1K") -> None:
        self.gateway, self.model, self.image_size = gateway, model, image_size
        self.at_once = gateway.policy.at_once

    @classmethod
    def connect(cls, settings: CallSettings | None = None, **options: Any) -> GeminiEditor:
        """With the key of the environment; the settings say where answers, costs and the budget are."""
        settings = settings or CallSettings()
        if settings.model:
            options = {"model": settings.model, **options}
        return cls(connect(cls.calls_out.provider, settings), **options)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"editor": "gemini", "model": self.model, "image_size": self.image_size}

    def edit(self, request: EditRequest) -> Image.Image:
        ratio = nearest_ratio(request.image.size, RATIOS)
        # A picture of another shape would come back reframed, and every mask would be off.
        padded, place = pad_to_ratio(request.image, ratio)
        reply = self.gateway.ask(
            Request(
                purpose="keyframe",
                model=self.model,
                text=_text(request),
                images=(Picture.of(padded).part,),
                temperature=None,
                seed=request.seed,
                output="image",
                options={"aspect_ratio": ratio, "image_size": self.image_size},
            )
        ).reply
        if not reply.images:
            said = " ".join(reply.text.split())[:200] or "nothing"
            raise NoPicture(f"{self.model} drew no picture for keyframe {request.event + 1}; it said: {said}")
        return cut_out(_decode(reply.images[-1].data, self.model), place, request.image.size)


def _text(request: EditRequest) -> str:
    if not request.complaints:
        return request.instruction
    return (
        f"{request.instruction}\nAn earlier drawing was refused. Avoid this: {'; '.join(request.complaints)}."
    )


def _decode(data: bytes, model: str) -> Image.Image:
    try:
        return decode_picture(data, "The drawing")
    except PhysPlanError:
        raise NoPicture(f"{model} sent a picture that cannot be read.") from None

"""What editors that call out share: the gateway they ask through, the wording, pictures of any origin."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from PIL import Image

from physplan.calls.cost_estimate import CallsOut
from physplan.calls.gateway import Gateway
from physplan.calls.protocol import Request
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError
from physplan.keyframes.protocol import EditRequest, NoPicture
from physplan.pictures import decode_picture
from physplan.reasoning.picture import Picture
from physplan.registry import did_you_mean


class CallingEditor:
    """The gateway stores, prices and retries; a kind of editor says how its model is asked."""

    calls_out: ClassVar[CallsOut]

    def __init__(self, gateway: Gateway, *, model: str) -> None:
        self.gateway, self.model = gateway, model
        self.at_once = gateway.policy.at_once

    @classmethod
    def connect(cls, settings: CallSettings | None = None, **options: Any) -> Self:
        """With the key of the environment; the settings say where answers, costs and the budget are."""
        settings = settings or CallSettings()
        cls.check_options(options)
        if settings.model:
            options = {"model": settings.model, **options}
        return cls(connect(cls.calls_out.provider, cls.calls_out.at(settings)), **options)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse what it cannot be made with, before a plan is paid for."""
        known = [name for name in inspect.signature(cls).parameters if name != "gateway"]
        for option in options:
            if option not in known:
                raise PhysPlanError(f"The editor has no option {option!r}. {did_you_mean(option, known)}")

    def ask(self, request: EditRequest, image: Image.Image, options: Mapping[str, str]) -> Image.Image:
        """The model's drawing from `image`, whatever its size."""
        reply = self.gateway.ask(
            Request(
                purpose="keyframe",
                model=self.model,
                text=_text(request),
                images=(Picture.of(image).part,),
                temperature=None,
                seed=request.seed,
                output="image",
                options=options,
            )
        ).reply
        if not reply.images:
            said = " ".join(reply.text.split())[:200] or "nothing"
            raise NoPicture(f"{self.model} drew no picture for keyframe {request.event + 1}; it said: {said}")
        return _decode(reply.images[-1].data, self.model)


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

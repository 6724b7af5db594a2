"""An image model behind a server that speaks OpenAI's `POST /images/edits`, such as vLLM-Omni or LocalAI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from physplan.calls.cost_estimate import CallsOut
from physplan.calls.gateway import Gateway
from physplan.errors import PhysPlanError
from physplan.keyframes.framing import cut_out, nearest_ratio, pad_to_ratio, same_shape
from physplan.keyframes.protocol import EditRequest
from physplan_models.keyframes.calling import CallingEditor

SIZE = re.compile(r"[1-9]\d{1,4}x[1-9]\d{1,4}")


class ImageServerEditor(CallingEditor):
    """`sizes` such as "1024x1024" are those that the model draws, where it does not draw every size."""

    calls_out = CallsOut(
        provider="openai",
        model="Qwen/Qwen-Image-Edit-2511",
        calls=lambda events: events,
        tokens=(1500, 200),
        images=1,
        url="http://localhost:8001/v1",  # beside the reasoner's: most servers hold one model
    )

    def __init__(self, gateway: Gateway, *, model: str = calls_out.model, sizes: Sequence[str] = ()) -> None:
        super().__init__(gateway, model=model)
        self.sizes = tuple(sizes)
        if gateway.client.local:
            self.at_once = 1  # side by side they would wait in one card's queue while their time runs

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        super().check_options(options)
        sizes = options.get("sizes", ())
        if not isinstance(sizes, list | tuple) or not all(SIZE.fullmatch(str(size)) for size in sizes):
            raise PhysPlanError(f'The editor\'s sizes are a list such as ["1024x1024"], not {sizes!r}.')

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"editor": "image-server", "model": self.model, "sizes": list(self.sizes)}

    def edit(self, request: EditRequest) -> Image.Image:
        size, ratio = self._drawn(request.image)
        # A picture of another shape would come back reframed, and every mask would be off.
        padded, place = pad_to_ratio(request.image, ratio)
        drawn = self.ask(request, padded, {"size": size})
        if not same_shape(drawn.size, padded.size):
            raise PhysPlanError(
                f"{self.model} drew {drawn.width} x {drawn.height} where {size} was asked for: name the sizes"
                " that it draws in editor.options.sizes."
            )
        return cut_out(drawn, place, request.image.size)

    def _drawn(self, image: Image.Image) -> tuple[str, str]:
        """The size to ask for, and its ratio: the frame's own, or the listed one of the nearest shape."""
        known = {size.replace("x", ":"): size for size in self.sizes or (f"{image.width}x{image.height}",)}
        ratio = nearest_ratio(image.size, tuple(known))
        return known[ratio], ratio

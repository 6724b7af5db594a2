"""SGLang Diffusion: JSON, the first frame as a data address; no field for a last frame."""

from __future__ import annotations

import base64
from typing import Any

from physplan.calls.protocol import ImagePart, Request
from physplan_models.servers.openai_jobs import OpenAIJobs
from physplan_models.servers.protocol import Abilities, HttpRequest, parts_of

WHOLE, FRACTIONS = ("num_frames", "fps", "num_inference_steps"), ("guidance_scale",)


class SGLang(OpenAIJobs):
    def abilities(self, model: str, listed: Any) -> Abilities:
        return Abilities()

    def submit(self, request: Request) -> HttpRequest:
        options = request.options
        body: dict[str, Any] = {
            "prompt": request.text,
            "model": request.model,
            "input_reference": data_url(parts_of(request)["first"]),
            "size": f"{options['width']}x{options['height']}",
            "seed": request.seed,
        }
        body |= {name: int(options[name]) for name in WHOLE if name in options}
        body |= {name: float(options[name]) for name in FRACTIONS if name in options}
        if options.get("negative_prompt"):
            body["negative_prompt"] = options["negative_prompt"]
        return HttpRequest(path="/videos", json=body)


def data_url(part: ImagePart) -> str:
    return f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"


DIALECT = SGLang()

"""vLLM-Omni: a form of fields and files. MiniMax H3 takes a last frame, and a video with a noise mask."""

from __future__ import annotations

import json
from typing import Any

from physplan.calls.protocol import Request
from physplan_models.servers.openai_jobs import OpenAIJobs
from physplan_models.servers.protocol import Abilities, HttpRequest, parts_of

SENT = ("width", "height", "num_frames", "fps", "num_inference_steps", "guidance_scale", "negative_prompt")


class VllmOmni(OpenAIJobs):
    def abilities(self, model: str, listed: Any) -> Abilities:
        multi_frame = "h3" in model.lower().replace("_", "-").split("/")[-1].split("-")
        return Abilities(last_frame=multi_frame, sketch=multi_frame)

    def submit(self, request: Request) -> HttpRequest:
        parts = parts_of(request)
        texts = {"prompt": request.text, "model": request.model, "seed": str(request.seed)}
        texts |= {name: request.options[name] for name in SENT if name in request.options}
        texts["size"] = f"{request.options['width']}x{request.options['height']}"
        files = [("input_reference", parts["first"])]
        if "last" in parts:
            files.append(("input_reference", parts["last"]))
            texts["extra_params"] = json.dumps({"task": "fl2va", "frame_indices": [0, -1]})
        if "source" in parts:
            files.append(("source_video", parts["source"]))
            texts["video_noise_mask"] = parts["mask"].data.decode()
        return HttpRequest(path="/videos", texts=texts, files=tuple(files))


DIALECT = VllmOmni()

"""Gemini (Veo): a long-running operation; first and last frame, no seed in this API, fixed sizes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from physplan.calls.protocol import ImagePart, Request
from physplan_models.clients.providers import GEMINI
from physplan_models.servers.protocol import Abilities, HttpRequest, Status, error_words, parts_of

SIZES = ((1280, 720), (720, 1280))
DURATIONS = (4.0, 6.0, 8.0)


class Gemini:
    provider = GEMINI
    can_cancel = False  # the API has no way to stop an operation: it stays stored

    def headers(self, key: str) -> Mapping[str, str]:
        return {"x-goog-api-key": key}

    def models(self) -> str | None:
        return None

    def abilities(self, model: str, listed: Any) -> Abilities:
        return Abilities(sizes=SIZES, durations=DURATIONS, between_frames=(8.0,), last_frame=True, seed=False)

    def submit(self, request: Request) -> HttpRequest:
        parts, options = parts_of(request), request.options
        instance: dict[str, Any] = {"prompt": request.text, "image": _picture(parts["first"])}
        seconds = round(float(options["seconds"]))
        if "last" in parts:
            instance["lastFrame"] = _picture(parts["last"])
        wide = int(options["width"]) > int(options["height"])
        asked: dict[str, Any] = {
            "durationSeconds": seconds,
            "aspectRatio": "16:9" if wide else "9:16",
            "resolution": "720p",
            "sampleCount": 1,
        }
        if options.get("negative_prompt"):
            asked["negativePrompt"] = options["negative_prompt"]
        path = f"/v1beta/models/{request.model}:predictLongRunning"
        return HttpRequest(path=path, json={"instances": [instance], "parameters": asked})

    def job_id(self, answer: Mapping[str, Any]) -> str:
        return str(answer.get("name") or "")

    def job(self, id: str) -> str:
        return f"/v1beta/{id}"

    def status(self, answer: Mapping[str, Any]) -> Status:
        if answer.get("error"):
            return Status(state="failed", message=error_words(answer["error"]))
        if answer.get("done") is not True:
            return Status(state="running")
        response = answer.get("response")
        made = response.get("generateVideoResponse") if isinstance(response, Mapping) else None
        made = made if isinstance(made, Mapping) else {}
        samples = made.get("generatedSamples")
        sample = samples[0] if isinstance(samples, list) and samples else {}
        video = sample.get("video") if isinstance(sample, Mapping) else None
        uri = str(video.get("uri") or "") if isinstance(video, Mapping) else ""
        if not uri:
            reasons = made.get("raiMediaFilteredReasons")
            said = "; ".join(map(str, reasons)) if isinstance(reasons, list) else "no video came back"
            return Status(state="failed", message=said)
        return Status(state="completed", progress=1.0, content=uri)

    def content(self, id: str, status: Status) -> str:
        return status.content


def _picture(part: ImagePart) -> dict[str, str]:
    return {"bytesBase64Encoded": base64.b64encode(part.data).decode(), "mimeType": part.media_type}


DIALECT = Gemini()

"""Loopback video servers in four dialects, with faults: each keeps its jobs, makes real mp4 files, counts.

A job moves one state on with every look at it. `fault` is what goes wrong: stuck, failed, cancelled, broken,
busy (429 at first), redirect, vanished.
"""

from __future__ import annotations

import base64
import email
import email.policy
import io
import json
import re
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import torch
from PIL import Image

from physplan.pictures import to_tensor
from physplan.video.files import write_video

Form = dict[str, list[Any]]  # of a multipart body: files as bytes, the rest as text


@dataclass
class Job:
    id: str
    asked: Mapping[str, Any]
    first: bytes
    last: bytes | None
    frames: int
    fps: int
    size: tuple[int, int]
    looks: int = 0
    cancelled: bool = False


@dataclass
class VideoServer:
    """`prefix` is the path of the API; `looks` before a job is completed."""

    key = "loopback-video-key"
    prefix = "/v1"
    fault: str = ""
    looks: int = 2
    jobs: dict[str, Job] = field(default_factory=dict)
    submitted: int = 0
    deleted: list[str] = field(default_factory=list)
    seen_keys: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner._answer(self, "GET")

            def do_POST(self) -> None:
                owner._answer(self, "POST")

            def do_DELETE(self) -> None:
                owner._answer(self, "DELETE")

            def log_message(self, *args: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return self.host + self.prefix

    def _answer(self, handler: BaseHTTPRequestHandler, verb: str) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        self.seen_keys.append(self.given_key(handler))
        path = handler.path.partition("?")[0].removeprefix(self.prefix)
        status, kind, content, headers = self.respond(
            verb, path, body, handler.headers.get("Content-Type", "")
        )
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    def given_key(self, handler: BaseHTTPRequestHandler) -> str:
        return str(handler.headers.get("Authorization", "")).removeprefix("Bearer ")

    def respond(
        self, verb: str, path: str, body: bytes, kind: str
    ) -> tuple[int, str, bytes, Mapping[str, str]]:
        if verb == "POST" and self.is_submission(path):
            return self._submit(body, kind)
        if found := re.fullmatch(r"/videos/([\w-]+)(/content)?", path):
            job = self.jobs.get(found[1])
            if job is None or (self.fault == "vanished" and verb == "GET"):
                return _json(404, {"error": {"message": "no such job"}})
            if verb == "DELETE":
                job.cancelled = True
                self.deleted.append(job.id)
                return _json(200, {"id": job.id, "object": "video.deleted", "deleted": True})
            return self._content(job) if found[2] else _json(200, self.described(job))
        return _json(404, {"error": {"message": f"no route {path}"}})

    def is_submission(self, path: str) -> bool:
        return path == "/videos"

    def _submit(self, body: bytes, kind: str) -> tuple[int, str, bytes, Mapping[str, str]]:
        self.submitted += 1
        if self.fault == "busy" and self.submitted == 1:
            status, sort, content, _ = _json(429, {"error": {"message": "too many requests"}})
            return status, sort, content, {"Retry-After": "0"}
        if self.fault == "redirect":
            return 307, "text/plain", b"", {"Location": "https://elsewhere.example/v1/videos"}
        try:
            job = self.read_job(f"video_{len(self.jobs) + 1}", body, kind)
        except (KeyError, ValueError, TypeError) as error:
            return _json(400, {"error": {"message": f"bad request: {error!r}"}})
        self.jobs[job.id] = job
        return _json(202, self.described(job))

    def read_job(self, id: str, body: bytes, kind: str) -> Job:
        raise NotImplementedError

    def described(self, job: Job) -> dict[str, Any]:
        return {"id": job.id, "object": "video", "created_at": 1, **self.state(job)}

    def state(self, job: Job) -> dict[str, Any]:
        job.looks += 1
        if self.fault == "failed":
            return {"status": "failed", "error": {"message": "out of memory on the card"}}
        if self.fault == "cancelled" or job.cancelled:
            return {"status": "cancelled"}
        if self.fault == "stuck" or job.looks <= 1:
            return {"status": "queued", "progress": 0}
        if job.looks <= self.looks:
            return {"status": "in_progress", "progress": 50}
        return {"status": "completed", "progress": 100}

    def _content(self, job: Job) -> tuple[int, str, bytes, Mapping[str, str]]:
        if self.fault == "broken":
            return 200, "video/mp4", b"\0\0\0\x18ftypmp42" + b"\xff" * 200, {}
        return 200, "video/mp4", mp4_of(job), {}


class VllmOmniServer(VideoServer):
    def read_job(self, id: str, body: bytes, kind: str) -> Job:
        form = read_form(body, kind)
        pictures = form["input_reference"]
        extra = json.loads(form["extra_params"][0]) if "extra_params" in form else {}
        if len(pictures) > 1 and extra != {"task": "fl2va", "frame_indices": [0, -1]}:
            raise ValueError("two pictures need frame_indices")
        if "source_video" in form:
            mask = json.loads(form["video_noise_mask"][0])
            if len(mask) != int(form["num_frames"][0]):
                raise ValueError("mask of another length")
        width, height = form["size"][0].split("x")
        return Job(
            id=id,
            asked=form,
            first=pictures[0],
            last=pictures[1] if len(pictures) > 1 else None,
            frames=int(form["num_frames"][0]),
            fps=int(form["fps"][0]),
            size=(int(width), int(height)),
        )


class SGLangServer(VideoServer):
    def read_job(self, id: str, body: bytes, kind: str) -> Job:
        asked = json.loads(body)
        width, height = asked["size"].split("x")
        return Job(
            id=id,
            asked=asked,
            first=_data(asked["input_reference"]),
            last=None,
            frames=asked["num_frames"],
            fps=asked["fps"],
            size=(int(width), int(height)),
        )


class OpenRouterServer(VideoServer):
    prefix = "/api/v1"
    model = "alibaba/wan-2.7"
    resolution = 120  # small, so that tests are quick

    def respond(
        self, verb: str, path: str, body: bytes, kind: str
    ) -> tuple[int, str, bytes, Mapping[str, str]]:
        if self.seen_keys[-1] != self.key:
            return _json(401, {"error": {"message": f"bad key {self.seen_keys[-1]}", "code": 401}})
        if path == "/videos/models":
            return _json(200, {"data": [self.listed()]})
        if verb == "DELETE":
            return _json(405, {"error": {"message": "no such method"}})
        return super().respond(verb, path, body, kind)

    def listed(self) -> dict[str, Any]:
        return {
            "id": self.model,
            "canonical_slug": self.model,
            "supported_resolutions": [f"{self.resolution}p"],
            "supported_aspect_ratios": ["16:9", "9:16", "1:1"],
            "supported_sizes": None,
            "supported_durations": [2, 5],
            "supported_frame_images": ["first_frame", "last_frame"],
            "seed": True,
            "pricing_skus": {"per-video-second": "0.04", "per-video-second-1080p": "0.10"},
        }

    def read_job(self, id: str, body: bytes, kind: str) -> Job:
        asked = json.loads(body)
        frames = {one["frame_type"]: _data(one["image_url"]["url"]) for one in asked["frame_images"]}
        if asked["duration"] not in (2, 5):
            raise ValueError("duration")
        across, down = map(int, asked["aspect_ratio"].split(":"))
        short = self.resolution
        size = (
            (short * max(across, down) // down, short) if across >= down else (short, short * down // across)
        )
        return Job(
            id=id,
            asked=asked,
            first=frames["first_frame"],
            last=frames.get("last_frame"),
            frames=asked["duration"] * 12,
            fps=12,
            size=(size[0] // 2 * 2, size[1] // 2 * 2),
        )

    def described(self, job: Job) -> dict[str, Any]:
        state = self.state(job)
        status = {"queued": "pending"}.get(state["status"], state["status"])
        return {"id": job.id, "polling_url": f"{self.url}/videos/{job.id}", **state, "status": status}


class GeminiVideoServer(VideoServer):
    prefix = ""

    def given_key(self, handler: BaseHTTPRequestHandler) -> str:
        return str(handler.headers.get("x-goog-api-key", ""))

    def respond(
        self, verb: str, path: str, body: bytes, kind: str
    ) -> tuple[int, str, bytes, Mapping[str, str]]:
        if self.seen_keys[-1] != self.key:
            return _json(400, {"error": {"code": 400, "message": "API key not valid."}})
        if found := re.fullmatch(r"/v1beta/models/[\w.-]+/operations/([\w-]+)", path):
            return super().respond(verb, f"/videos/{found[1]}", body, kind)
        if found := re.fullmatch(r"/v1beta/files/([\w-]+):download", path):
            return 302, "text/plain", b"", {"Location": f"/download/{found[1]}?alt=media"}
        if found := re.fullmatch(r"/download/([\w-]+)", path):
            return self._content(self.jobs[found[1]])
        return super().respond(verb, path, body, kind)

    def is_submission(self, path: str) -> bool:
        return path.endswith(":predictLongRunning")

    def read_job(self, id: str, body: bytes, kind: str) -> Job:
        asked = json.loads(body)
        (instance,), wanted = asked["instances"], asked["parameters"]
        if wanted["durationSeconds"] not in (4, 6, 8) or "seed" in wanted:
            raise ValueError("parameters")
        last = instance.get("lastFrame")
        return Job(
            id=id,
            asked=asked,
            first=base64.b64decode(instance["image"]["bytesBase64Encoded"]),
            last=base64.b64decode(last["bytesBase64Encoded"]) if last else None,
            frames=wanted["durationSeconds"] * 6,
            fps=6,
            size=(128, 72) if wanted["aspectRatio"] == "16:9" else (72, 128),
        )

    def described(self, job: Job) -> dict[str, Any]:
        state, name = self.state(job), f"models/veo/operations/{job.id}"
        if state["status"] in ("failed", "cancelled"):
            return {"name": name, "done": True, "error": {"code": 13, "message": "out of memory on the card"}}
        if state["status"] != "completed":
            return {"name": name}
        video = {"video": {"uri": f"{self.host}/v1beta/files/{job.id}:download?alt=media"}}
        return {
            "name": name,
            "done": True,
            "response": {"generateVideoResponse": {"generatedSamples": [video]}},
        }


def mp4_of(job: Job) -> bytes:
    """The first picture becoming the last, or growing dark where there is none."""
    first = _frame(job.first, job.size)
    last = _frame(job.last, job.size) if job.last else first * 0.3
    shares = torch.linspace(0, 1, job.frames).view(-1, 1, 1, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.mp4"
        write_video(path, first * (1 - shares) + last * shares, fps=job.fps)
        return path.read_bytes()


def _frame(data: bytes, size: tuple[int, int]) -> torch.Tensor:
    return to_tensor(Image.open(io.BytesIO(data)).convert("RGB").resize(size))


def _data(url: str) -> bytes:
    return base64.b64decode(url.partition("base64,")[2])


def _json(status: int, value: Mapping[str, Any]) -> tuple[int, str, bytes, Mapping[str, str]]:
    return status, "application/json", json.dumps(value).encode(), {}


def read_form(content: bytes, kind: str) -> Form:
    """Every field of a multipart body, repeated ones in order."""
    form = email.message_from_bytes(
        f"Content-Type: {kind}\r\n\r\n".encode() + content, policy=email.policy.HTTP
    )
    fields: Form = {}
    for part in form.iter_parts():
        value: Any = part.get_payload(decode=True)
        name = str(part.get_param("name", header="Content-Disposition"))
        fields.setdefault(name, []).append(value if part.get_filename() else value.decode())
    return fields


SERVERS = {
    "vllm_omni": VllmOmniServer,
    "sglang": SGLangServer,
    "openrouter": OpenRouterServer,
    "gemini": GeminiVideoServer,
}

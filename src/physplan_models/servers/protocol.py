"""A video job, what a server can do, and what a dialect translates between the two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from physplan.calls.protocol import ImagePart, Request
from physplan.calls.providers import Provider

State = Literal["queued", "running", "completed", "failed", "cancelled"]
MOST_SIDE, MOST_SECONDS = 16_384, 86_400.0  # of a video


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """`sizes` (width, height) and `durations` in seconds; None: any."""

    sizes: tuple[tuple[int, int], ...] | None = None
    durations: tuple[float, ...] | None = None
    longest: float | None = None  # seconds
    between_frames: tuple[float, ...] | None = None  # durations where a last frame is given, if others
    last_frame: bool = False
    sketch: bool = False  # takes a video with a noise mask
    seed: bool = True
    usd_per_second: float | None = None  # None: the price table says

    def __post_init__(self) -> None:
        """ValueError or TypeError for what no server makes: a list that it sends, or a file, is not ours."""
        for width, height in self.sizes or ():
            if not all(type(side) is int and 16 <= side <= MOST_SIDE for side in (width, height)):
                raise ValueError("sizes")
        seconds = [*(self.durations or ()), *(self.between_frames or ()), self.longest or 1.0]
        if not all(0 < one <= MOST_SECONDS for one in seconds):
            raise ValueError("durations")
        if self.usd_per_second is not None and not 0 <= self.usd_per_second < math.inf:
            raise ValueError("usd_per_second")


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """`path` below the server's address; a JSON body, or a form of texts and files."""

    path: str
    json: Mapping[str, Any] | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, ImagePart], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Status:
    state: State
    progress: float = 0.0  # 0 to 1
    message: str = ""
    content: str = ""  # an address of the video, where the server names one


class Dialect(Protocol):
    """How a kind of server is asked; pure functions of the server's JSON."""

    provider: Provider
    can_cancel: bool

    def headers(self, key: str) -> Mapping[str, str]: ...

    def models(self) -> str | None:
        """The path of the models list that abilities are read from; None: they are fixed."""
        ...

    def abilities(self, model: str, listed: Any) -> Abilities: ...

    def submit(self, request: Request) -> HttpRequest: ...

    def job_id(self, answer: Mapping[str, Any]) -> str: ...

    def job(self, id: str) -> str:
        """The path of a job: GET its status, DELETE it."""
        ...

    def status(self, answer: Mapping[str, Any]) -> Status: ...

    def content(self, id: str, status: Status) -> str:
        """The path, or whole address on the same host, of the finished video."""
        ...


def parts_of(request: Request) -> dict[str, ImagePart]:
    """The parts of a request by role; `options["parts"]` names them in order."""
    names = request.options["parts"].split(",")
    return dict(zip(names, request.images, strict=True))


def openai_status(answer: Mapping[str, Any]) -> Status:
    """The states of `/v1/videos`, as OpenAI named them and others added to."""
    states: dict[str, State] = {
        "queued": "queued",
        "pending": "queued",
        "in_progress": "running",
        "processing": "running",
        "completed": "completed",
        "failed": "failed",
        "cancelled": "cancelled",
        "expired": "failed",
    }
    said = str(answer.get("status", ""))
    progress = answer.get("progress")
    share = float(progress) / 100 if isinstance(progress, int | float) else 0.0
    return Status(
        state=states.get(said, "running" if said else "failed"),
        progress=min(max(share, 0.0), 1.0),
        message=error_words(answer.get("error")) or ("expired" if said == "expired" else ""),
    )


def error_words(error: Any) -> str:
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("code") or "")
    return str(error or "")

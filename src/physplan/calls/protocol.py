"""What a call to a model is: request, reply and faults, the same for text and for image outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from physplan.errors import PhysPlanError

IMAGE_TYPES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}  # and their files' endings


@dataclass(frozen=True, kw_only=True)
class ImagePart:
    """An encoded picture. `digest` names its content: its pixels where they are known, else its bytes."""

    data: bytes = field(repr=False)
    media_type: str
    pixels: str | None = None

    @cached_property
    def digest(self) -> str:
        return self.pixels or hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to one model. All fields but `purpose` decide the answer: they are its store key."""

    purpose: str
    model: str
    text: str
    system: str = ""
    images: tuple[ImagePart, ...] = ()
    schema: Mapping[str, Any] | None = None
    temperature: float | None = 0.0
    seed: int | None = None
    max_output_tokens: int = 8192
    output: Literal["text", "image", "video"] = "text"
    options: Mapping[str, str] = field(
        default_factory=dict
    )  # images: aspect_ratio, image_size; video: seconds

    def identity(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "system": self.system,
            "text": self.text,
            "images": [image.digest for image in self.images],
            "schema": self.schema,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_output_tokens": self.max_output_tokens,
            "output": self.output,
            "options": dict(self.options),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the server counted; `output_tokens` includes thinking tokens, which are billed as output."""

    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    text: str = ""
    images: tuple[ImagePart, ...] = ()
    usage: Usage | None = None  # None: the server said nothing, or nothing that can be true
    model: str = ""  # the version that the server says it served
    truncated: bool = False  # cut off at max_output_tokens


class Client(Protocol):
    """A provider: one attempt, no retries, faults raised as `CallFault`."""

    provider: str
    local: bool  # the server is on this machine or its private network: an unlisted model costs nothing

    def ready(self) -> None:
        """Load what calls need: importing an SDK takes seconds, which are not the model's."""
        ...

    def complete(self, request: Request, *, timeout: float) -> Reply: ...


class CallFault(PhysPlanError):
    """An attempt that gave no answer. `status` is the HTTP status, or None when there was no response at all.

    `billable` says that the server may have worked, and may charge, although no answer came back: as much as
    `usage` says, or the worst case.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        billable: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable
        self.billable = billable
        self.usage = usage

"""Gemini through google-genai: JSON-constrained text, or pictures, from pictures and text."""

from __future__ import annotations

import importlib.util
import os
import ssl
import threading
import warnings
from functools import cache
from typing import Any

from physplan.calls.addresses import is_local
from physplan.calls.protocol import IMAGE_TYPES, CallFault, ImagePart, Reply, Request, Usage
from physplan.calls.secrets import Secret
from physplan.extras import need_extra
from physplan_models.clients.faults import as_fault, label, sentence
from physplan_models.clients.http import bounded, exchange, stated
from physplan_models.clients.providers import GEMINI
from physplan_models.clients.usage import read_usage

SERVICE = "Gemini"


class GeminiClient:
    provider = "gemini"

    def __init__(self, key: Secret, *, base_url: str = GEMINI.url) -> None:
        need_extra("google.genai", extra="gemini")
        self._key = key
        self._base_url = base_url
        self.local = is_local(base_url)
        self._lock = threading.Lock()
        self._sdk: Any = None

    def complete(self, request: Request, *, timeout: float) -> Reply:
        from google.genai import types

        parts = [
            types.Part.from_bytes(data=image.data, mime_type=image.media_type) for image in request.images
        ]
        parts.append(types.Part.from_text(text=request.text))
        config = types.GenerateContentConfig(
            system_instruction=request.system or None,
            temperature=request.temperature,
            seed=request.seed,
            max_output_tokens=request.max_output_tokens,
            http_options=types.HttpOptions(timeout=max(1, round(timeout * 1000))),
        )
        if request.schema is not None:
            config.response_mime_type = "application/json"
            config.response_json_schema = dict(request.schema)
        if request.output == "image":
            config.response_modalities = ["IMAGE", "TEXT"]
            config.image_config = types.ImageConfig.model_validate(dict(request.options))
        try:
            with exchange(request) as sent:
                response = self._sdk.models.generate_content(
                    model=request.model, contents=types.Content(role="user", parts=parts), config=config
                )
            return self._read(response, request, stated(sent.body, "usageMetadata"))
        except Exception as error:
            raise as_fault(error, service=SERVICE, secret=self._key) from None

    def ready(self) -> None:
        with self._lock:
            if self._sdk is None:
                from google import genai

                # The SDK would print a word of the server that it does not know, which may be the key.
                warnings.filterwarnings("ignore", message=".* is not a valid ", module=r"google\.genai")
                trust = {"verify": _trusted()}  # the SDK asks for it by two names
                options = genai.types.HttpOptions(
                    base_url=self._base_url,
                    client_args=trust,
                    httpx_client=bounded(_http().Client)(**trust),
                    async_client_args=trust | {"ssl": _trusted()},
                )
                self._sdk = genai.Client(api_key=self._key.reveal(), vertexai=False, http_options=options)

    def _read(self, response: Any, request: Request, usage: Any) -> Reply:
        candidates = response.candidates or []
        if not candidates:
            reason = _name(getattr(response.prompt_feedback, "block_reason", None) or "no candidate")
            raise self._refusal(reason, usage)
        finish = _name(candidates[0].finish_reason or "STOP")
        parts = (candidates[0].content.parts if candidates[0].content else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        images = tuple(
            ImagePart(data=part.inline_data.data, media_type=_media_type(part.inline_data.mime_type))
            for part in parts
            if part.inline_data and part.inline_data.data and not part.thought
        )
        if finish not in ("STOP", "MAX_TOKENS") and not text and not images:
            raise self._refusal(finish, usage)
        return Reply(
            text=self._key.redact(text),
            images=images,
            usage=_counted(usage, len(images), answered=bool(text)),
            model=label(response.model_version or request.model, self._key),
            truncated=finish == "MAX_TOKENS",
        )

    def _refusal(self, reason: str, usage: Any) -> CallFault:
        """Answered without an answer, which is charged for like any other."""
        said = sentence(reason, self._key)
        return CallFault(
            f"{SERVICE} refused to answer: {said} Reword the prompt or change the image.",
            status=200,
            billable=True,
            usage=_counted(usage, 0, answered=False),
        )


def _counted(said: Any, images: int, *, answered: bool) -> Usage | None:
    if not isinstance(said, dict):
        return None
    drawn = [
        _or_none_at_all(detail.get("tokenCount"))
        for detail in said.get("candidatesTokensDetails") or []
        if detail.get("modality") == "IMAGE"
    ]
    return read_usage(
        taken=said.get("promptTokenCount"),
        given=_or_none_at_all(said.get("candidatesTokenCount")),
        thought=_or_none_at_all(said.get("thoughtsTokenCount")),
        total=said.get("totalTokenCount"),
        drawn=sum(drawn) if all(type(count) is int for count in drawn) else None,
        images=images,
        answered=answered,
    )


def _or_none_at_all(count: Any) -> Any:
    """Gemini leaves out what it has not counted."""
    return 0 if count is None else count


def _media_type(named: str | None) -> str:
    return named if named in IMAGE_TYPES else "application/octet-stream"


def _http() -> Any:
    """The HTTP library of the installed SDK: httpx, or its successor."""
    return importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: the SDK would read them twice per client, for 80 ms."""
    import certifi

    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE") or certifi.where(), capath=os.environ.get("SSL_CERT_DIR")
    )

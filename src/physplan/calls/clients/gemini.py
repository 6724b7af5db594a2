"""Gemini through google-genai: JSON-constrained text, or pictures, from pictures and text."""

from __future__ import annotations

import os
import ssl
import threading
from functools import cache
from typing import Any

from physplan.calls.clients.faults import as_fault, is_local
from physplan.calls.protocol import CallFault, ImagePart, Reply, Request, Usage
from physplan.calls.secrets import Secret
from physplan.extras import need_extra

SERVICE = "Gemini"


class GeminiClient:
    provider = "gemini"

    def __init__(self, key: Secret, *, base_url: str | None = None) -> None:
        need_extra("google.genai", extra="gemini")
        self._key = key
        self._base_url = base_url
        self.local = base_url is not None and is_local(base_url)
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
            response = self._sdk.models.generate_content(
                model=request.model, contents=types.Content(role="user", parts=parts), config=config
            )
        except Exception as error:
            raise as_fault(error, service=SERVICE, secret=self._key) from None
        return self._read(response, request)

    def ready(self) -> None:
        with self._lock:
            if self._sdk is None:
                from google import genai

                trust = {"verify": _trusted()}  # the SDK asks for it by two names
                options = genai.types.HttpOptions(
                    base_url=self._base_url or None,
                    client_args=trust,
                    async_client_args=trust | {"ssl": _trusted()},
                )
                self._sdk = genai.Client(api_key=self._key.reveal(), vertexai=False, http_options=options)

    def _read(self, response: Any, request: Request) -> Reply:
        candidates = response.candidates or []
        if not candidates:
            reason = getattr(response.prompt_feedback, "block_reason", None) or "no candidate"
            raise CallFault(
                f"{SERVICE} refused the request ({_name(reason)}): reword the prompt or change the image."
            )
        finish = _name(candidates[0].finish_reason or "STOP")
        parts = (candidates[0].content.parts if candidates[0].content else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        images = tuple(
            ImagePart(data=part.inline_data.data, media_type=part.inline_data.mime_type or "image/png")
            for part in parts
            if part.inline_data and part.inline_data.data and not part.thought
        )
        if finish not in ("STOP", "MAX_TOKENS") and not text and not images:
            raise CallFault(f"{SERVICE} gave no answer ({finish}): reword the prompt or change the image.")
        return Reply(
            text=self._key.redact(text),
            images=images,
            usage=_usage(response.usage_metadata, len(images)),
            model=self._key.redact(response.model_version or request.model),
            truncated=finish == "MAX_TOKENS",
        )


def _usage(metadata: Any, images: int) -> Usage:
    if metadata is None:
        return Usage(images=images)
    drawn = sum(  # generated pictures are priced per picture, not per token
        detail.token_count or 0
        for detail in metadata.candidates_tokens_details or []
        if _name(detail.modality) == "IMAGE"
    )
    output = (metadata.candidates_token_count or 0) + (metadata.thoughts_token_count or 0) - drawn
    return Usage(input_tokens=metadata.prompt_token_count or 0, output_tokens=max(0, output), images=images)


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates to trust, read once: the SDK would read them twice per client, for 80 ms."""
    import certifi

    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE") or certifi.where(), capath=os.environ.get("SSL_CERT_DIR")
    )

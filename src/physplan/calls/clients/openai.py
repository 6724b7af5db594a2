"""Servers that speak OpenAI's chat completions (OpenAI, vLLM, Ollama, LM Studio), through the openai SDK."""

from __future__ import annotations

import base64
import threading
from typing import Any

from physplan.calls.clients.faults import as_fault, is_local
from physplan.calls.protocol import CallFault, Reply, Request, Usage
from physplan.calls.secrets import Secret
from physplan.extras import need_extra


class OpenAIClient:
    provider = "openai"

    def __init__(self, key: Secret | None = None, *, base_url: str | None = None) -> None:
        need_extra("openai", extra="openai")
        self._key = key or Secret("")
        self._base_url = base_url
        self.local = base_url is not None and is_local(base_url)
        # OpenAI's own newer models know only the new name; other servers know the old one.
        self._limit_name = "max_tokens" if base_url else "max_completion_tokens"
        self._service = f"The server at {base_url}" if base_url else "OpenAI"
        self._lock = threading.Lock()
        self._sdk: Any = None

    def complete(self, request: Request, *, timeout: float) -> Reply:
        if request.output == "image":
            raise CallFault(f"{self._service} is used for text only: choose another editor for keyframes.")
        try:
            response = self._sdk.chat.completions.create(timeout=timeout, **self._arguments(request))
        except Exception as error:
            raise as_fault(error, service=self._service, secret=self._key) from None
        return self._read(response, request)

    def _arguments(self, request: Request) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": request.text}]
        for image in request.images:
            url = f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"
            content.insert(-1, {"type": "image_url", "image_url": {"url": url}})
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": messages,
            self._limit_name: request.max_output_tokens,
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.seed is not None:
            arguments["seed"] = request.seed
        if request.schema is not None:
            schema = {"name": request.purpose, "strict": True, "schema": dict(request.schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        return arguments

    def ready(self) -> None:
        with self._lock:
            if self._sdk is None:
                import openai

                # Local servers take any key, but the SDK insists on one.
                key = self._key.reveal() or "none"
                self._sdk = openai.OpenAI(api_key=key, base_url=self._base_url, max_retries=0)

    def _read(self, response: Any, request: Request) -> Reply:
        choices = getattr(response, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise CallFault(
                f"{self._service} answered without a choice: is it an OpenAI-compatible server?",
                billable=True,
            )
        message = choices[0].message
        if refusal := getattr(message, "refusal", None):
            raise CallFault(f"{self._service} refused: {self._key.redact(str(refusal))[:200]}", billable=True)
        usage = response.usage
        return Reply(
            text=self._key.redact(message.content or ""),
            usage=Usage(
                input_tokens=getattr(usage, "prompt_tokens", 0) or 0,
                output_tokens=getattr(usage, "completion_tokens", 0) or 0,
            ),
            model=self._key.redact(response.model or request.model),
            truncated=choices[0].finish_reason == "length",
        )

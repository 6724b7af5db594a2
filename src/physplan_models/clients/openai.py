"""Servers that speak OpenAI's chat completions (OpenAI, vLLM, Ollama, LM Studio) or edit pictures as it does
(vLLM-Omni, LocalAI), through the openai SDK."""

from __future__ import annotations

import base64
import threading
from typing import Any

from physplan.calls.addresses import is_local
from physplan.calls.protocol import CallFault, Reply, Request
from physplan.calls.secrets import Secret
from physplan.extras import need_extra
from physplan_models.clients.faults import as_fault, label, sentence
from physplan_models.clients.http import bounded, exchange, stated
from physplan_models.clients.openai_images import edit_arguments, edited_images
from physplan_models.clients.providers import OPENAI
from physplan_models.clients.usage import read_usage


class OpenAIClient:
    provider = "openai"

    def __init__(self, key: Secret | None = None, *, base_url: str = OPENAI.url) -> None:
        need_extra("openai", extra="openai")
        self._key = key or Secret("")
        self._base_url = base_url
        self.local = is_local(base_url)
        self._own = own = base_url == OPENAI.url
        # OpenAI's own newer models know only the new name; other servers know the old one.
        self._limit_name = "max_completion_tokens" if own else "max_tokens"
        self._service = "OpenAI" if own else f"The server at {base_url}"
        self._lock = threading.Lock()
        self._sdk: Any = None

    def complete(self, request: Request, *, timeout: float) -> Reply:
        drawn = request.output == "image"
        try:
            with exchange(request) as sent:
                if drawn:
                    arguments = edit_arguments(request, own=self._own)
                    response = self._sdk.images.edit(timeout=timeout, **arguments)
                else:
                    response = self._sdk.chat.completions.create(timeout=timeout, **self._arguments(request))
            usage = stated(sent.body, "usage")
            read = self._read_images if drawn else self._read
            return read(response, request, usage if isinstance(usage, dict) else {})
        except Exception as error:
            raise as_fault(error, service=self._service, secret=self._key) from None

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
                self._sdk = openai.OpenAI(
                    api_key=key,
                    base_url=self._base_url,
                    max_retries=0,
                    http_client=bounded(openai.DefaultHttpxClient)(),
                )

    def _read(self, response: Any, request: Request, counted: dict[str, Any]) -> Reply:
        """The SDK hands on whatever came as whatever type: each field is looked at before it is used."""
        choices = getattr(response, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        text = getattr(message, "content", None) or ""
        refusal = getattr(message, "refusal", None)
        usage = read_usage(
            taken=counted.get("prompt_tokens"),
            given=counted.get("completion_tokens"),
            total=counted.get("total_tokens"),
            answered=bool(text),
        )
        if not isinstance(choices, list) or message is None or not isinstance(text, str):
            raise CallFault(
                f"{self._service} answered without a choice: is it an OpenAI-compatible server?",
                status=200,
                billable=True,
                usage=usage,
            )
        if refusal:
            said = sentence(str(refusal), self._key)
            raise CallFault(f"{self._service} refused: {said}", status=200, billable=True, usage=usage)
        model = getattr(response, "model", None)
        return Reply(
            text=self._key.redact(text),
            usage=usage,
            model=label(model if isinstance(model, str) and model else request.model, self._key),
            truncated=getattr(choices[0], "finish_reason", None) == "length",
        )

    def _read_images(self, response: Any, request: Request, counted: dict[str, Any]) -> Reply:
        images = edited_images(response)
        usage = read_usage(
            taken=counted.get("input_tokens"),
            given=counted.get("output_tokens"),
            total=counted.get("total_tokens"),
            images=len(images or ()),
            answered=bool(images),
        )
        if images is None:
            raise CallFault(
                f"{self._service} answered without a picture as b64_json: does it offer /images/edits?",
                status=200,
                billable=True,
                usage=usage,
            )
        return Reply(images=images, usage=usage, model=label(request.model, self._key))

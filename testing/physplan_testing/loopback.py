"""Loopback servers that speak the real protocols: Gemini's generateContent, OpenAI's chat completions and its
images/edits.

They read what the SDK sent, refuse what the real servers refuse (no key, unsupported schemas), and answer
through one function: `Asked -> Answer | None` (None closes the connection).
"""

from __future__ import annotations

import base64
import email
import email.policy
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as the server understood it."""

    model: str
    text: str
    system: str
    images: tuple[bytes, ...]
    schema: dict[str, Any] | None
    temperature: float | None
    max_output_tokens: int | None
    modalities: tuple[str, ...] = ()
    body: dict[str, Any] = field(repr=False, default_factory=dict)
    headers: dict[str, str] = field(repr=False, default_factory=dict)

    @property
    def act(self) -> str:
        """Which of the acts this is, by the field that its schema asks for."""
        return next(iter((self.schema or {}).get("properties", {})), "")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to send back. `stall` waits before the first byte, `trickle` between bytes of the body."""

    text: str = ""
    images: tuple[bytes, ...] = ()
    status: int = 200
    message: str = "the server's own words"
    headers: dict[str, str] = field(default_factory=dict)
    stall: float = 0.0
    trickle: float = 0.0
    finish: str = "stop"  # or "length", "refused"
    tokens: tuple[int, int] = (1000, 200)
    raw: bytes | None = None


EDITS = "/v1/images/edits"
GENERATE = re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent")
Respond = Callable[[Asked], Answer | None]


class Loopback:
    """A server on a free port or on `port`, as a context manager. `asked` is all that was understood, `heard`
    counts all that arrived; `peak` is the most at once."""

    key = "test-key"

    def __init__(self, respond: Respond, *, key: str | None = None, port: int = 0) -> None:
        self.respond = respond
        self.key = key or self.key
        self.asked: list[Asked] = []
        self.active = self.peak = self.heard = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                outer.heard += 1
                outer._serve(self)

            def do_GET(self) -> None:
                outer.heard += 1
                self.send_error(405)

            def log_message(self, *args: object) -> None: ...

        self._server = _Server(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Loopback:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def acts(self) -> list[str]:
        return [asked.act for asked in self.asked]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        body = _parsed(handler.rfile.read(length), handler.headers.get("Content-Type", ""))
        with self._lock:
            self.active += 1
            self.peak = max(self.peak, self.active)
        try:
            refusal = self.refuse(handler, body)
            if refusal:
                answer: Answer | None = refusal
            else:
                asked = self.decode(handler.path, body, dict(handler.headers))
                with self._lock:
                    self.asked.append(asked)
                answer = self.respond(asked)
            if answer is None:
                handler.close_connection = True
                return
            time.sleep(answer.stall)
            content = answer.raw if answer.raw is not None else json.dumps(self.encode(answer)).encode()
            try:
                _send(handler, answer, content)
            except OSError:
                handler.close_connection = True  # the client gave up
        finally:
            with self._lock:
                self.active -= 1

    def refuse(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Answer | None:
        raise NotImplementedError

    def decode(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Asked:
        raise NotImplementedError

    def encode(self, answer: Answer) -> dict[str, Any]:
        raise NotImplementedError


class GeminiServer(Loopback):
    """POST /v1/models/MODEL:generateContent (older SDKs: /v1beta)."""

    def refuse(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Answer | None:
        if not GENERATE.fullmatch(handler.path):
            return Answer(status=404, message="Requested entity was not found.")
        if handler.headers.get("x-goog-api-key") != self.key:
            return Answer(status=400, message="API key not valid. Please pass a valid API key.")
        config = body.get("generationConfig", {})
        if unsupported := _keywords(config.get("responseJsonSchema")) & {
            "oneOf",
            "allOf",
            "patternProperties",
        }:
            return Answer(status=400, message=f"Unsupported schema keyword {sorted(unsupported)[0]}")
        return None

    def decode(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Asked:
        config = body.get("generationConfig", {})
        asked = GENERATE.fullmatch(path)
        assert asked is not None
        parts = [part for content in body["contents"] for part in content["parts"]]
        return Asked(
            model=asked[1],
            text="".join(part.get("text", "") for part in parts),
            system="".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", [])),
            images=tuple(_bytes(p["inlineData"]["data"]) for p in parts if "inlineData" in p),
            schema=config.get("responseJsonSchema"),
            temperature=config.get("temperature"),
            max_output_tokens=config.get("maxOutputTokens"),
            modalities=tuple(config.get("responseModalities", ())),
            body=body,
            headers=headers,
        )

    def encode(self, answer: Answer) -> dict[str, Any]:
        if answer.status != 200:
            status = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(answer.status, "INVALID_ARGUMENT")
            return {"error": {"code": answer.status, "message": answer.message, "status": status}}
        if answer.finish == "refused":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "loopback"}
        parts: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
        for image in answer.images:
            data = base64.b64encode(image).decode()
            parts.append({"inlineData": {"mimeType": "image/png", "data": data}})
        taken, given = answer.tokens
        image_tokens = 1120 * len(answer.images)
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "finishReason": {"stop": "STOP", "length": "MAX_TOKENS"}[answer.finish],
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": taken,
                "candidatesTokenCount": given - 50 + image_tokens,
                "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": image_tokens}],
                "thoughtsTokenCount": 50,
                "totalTokenCount": taken + given + image_tokens,
            },
            "modelVersion": "gemini-3-flash-loopback",
            "responseId": "loopback",
        }


class OpenAIServer(Loopback):
    """POST /v1/chat/completions and /v1/images/edits; `url` is the SDK's base_url."""

    @property
    def url(self) -> str:
        return super().url + "/v1"

    def refuse(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Answer | None:
        if handler.path not in ("/v1/chat/completions", EDITS):
            return Answer(status=404, message=f"Unknown request URL: POST {handler.path}.")
        if handler.headers.get("Authorization") != f"Bearer {self.key}":
            given = handler.headers.get("Authorization", "").removeprefix("Bearer ")
            return Answer(status=401, message=f"Incorrect API key provided: {given}.")
        if handler.path == EDITS:
            problem = _edit_problem(body)
            return Answer(status=400, message=problem) if problem else None
        form = body.get("response_format", {}).get("json_schema")
        if form and form.get("strict") and (problem := _strict_problem(form["schema"])):
            return Answer(status=400, message=f"Invalid schema for response_format: {problem}")
        return None

    def decode(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Asked:
        if path == EDITS:
            return Asked(
                model=body["model"],
                text=body["prompt"],
                system="",
                images=(body["image"],),
                schema=None,
                temperature=None,
                max_output_tokens=None,
                modalities=("IMAGE",),
                body=body,
                headers=headers,
            )
        system = "".join(m["content"] for m in body["messages"] if m["role"] == "system")
        parts = [p for m in body["messages"] if m["role"] == "user" for p in m["content"]]
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        return Asked(
            model=body["model"],
            text="".join(part["text"] for part in parts if part["type"] == "text"),
            system=system,
            images=tuple(base64.b64decode(url.partition("base64,")[2]) for url in urls),
            schema=body.get("response_format", {}).get("json_schema", {}).get("schema"),
            temperature=body.get("temperature"),
            max_output_tokens=body.get("max_tokens", body.get("max_completion_tokens")),
            body=body,
            headers=headers,
        )

    def encode(self, answer: Answer) -> dict[str, Any]:
        if answer.status != 200:
            return {"error": {"message": answer.message, "type": "error", "param": None, "code": None}}
        if answer.images and not answer.text:
            return {"created": 1, "data": [{"b64_json": base64.b64encode(i).decode()} for i in answer.images]}
        refused = answer.finish == "refused"
        message = {
            "role": "assistant",
            "content": None if refused else answer.text,
            "refusal": "I cannot help with that." if refused else None,
        }
        taken, given = answer.tokens
        return {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "created": 1,
            "model": "loopback-vl",
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": "length" if answer.finish == "length" else "stop",
                }
            ],
            "usage": {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given},
        }


class _Server(ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # clients give up, and are killed, on purpose
            super().handle_error(request, address)


def _send(handler: BaseHTTPRequestHandler, answer: Answer, content: bytes) -> None:
    handler.send_response(answer.status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(content)))
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    if not answer.trickle:
        handler.wfile.write(content)
        return
    for byte in content:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(answer.trickle)


def _parsed(content: bytes, kind: str) -> dict[str, Any]:
    """JSON, or the fields of a form: files as bytes, the rest as text."""
    if not kind.startswith("multipart/form-data"):
        return dict(json.loads(content))
    form = email.message_from_bytes(
        f"Content-Type: {kind}\r\n\r\n".encode() + content, policy=email.policy.HTTP
    )
    fields: dict[str, Any] = {}
    for part in form.iter_parts():
        value: Any = part.get_payload(decode=True)
        name = part.get_param("name", header="Content-Disposition")
        fields[str(name)] = value if part.get_filename() else value.decode()
    return fields


def _edit_problem(form: dict[str, Any]) -> str | None:
    """What servers with open models ask of an edit."""
    absent = [name for name in ("model", "prompt", "image") if not form.get(name)]
    if absent:
        return f"Field required: {absent[0]}"
    if not re.fullmatch(r"\d+x\d+", form.get("size", "")):
        return "size must look like 1024x1024."
    return (
        None if form.get("response_format") == "b64_json" else "Only response_format 'b64_json' is supported."
    )


def _bytes(text: str) -> bytes:
    """Base64 in either alphabet: Google's services take both, and the SDK sends the one for URLs."""
    return base64.b64decode(text.replace("-", "+").replace("_", "/"))


def _keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_keywords, schema)) if schema else set()
    if isinstance(schema, dict):
        return set(schema) | _keywords(list(schema.values()))
    return set()


def _strict_problem(schema: dict[str, Any]) -> str | None:
    """What OpenAI's strict mode asks of every object: no further properties, all of them required."""
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("required", [])) != set(schema["properties"]):
            return "'required' is required to be supplied and to include every key in properties."
        return next(filter(None, map(_strict_problem, schema["properties"].values())), None)
    return _strict_problem(schema["items"]) if schema.get("type") == "array" else None

"""A request's fields, from JSON or a multipart form; files as bytes, the rest as text."""

from __future__ import annotations

import base64
import binascii
import email
import email.policy
import json
import re
from collections.abc import Mapping
from typing import Any

from physplan_studio.web.server import Refused

NESTED = re.compile(r"(\w+)\[(\w+)\]")  # how the openai client writes a mapping into a form
DATA = re.compile(r"data:image/[a-z]+;base64,(.+)", re.DOTALL)


def read_fields(body: bytes, kind: str) -> dict[str, Any]:
    if kind.startswith("multipart/form-data"):
        return _form(body, kind)
    if not kind.startswith("application/json"):
        raise Refused("Send JSON or a multipart form.")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused("This is no JSON.") from None
    if not isinstance(given, dict):
        raise Refused("A request is a JSON object.")
    return given


def _form(body: bytes, kind: str) -> dict[str, Any]:
    form = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=email.policy.HTTP)
    if not form.is_multipart():
        raise Refused("The form cannot be read: send it again.")
    fields: dict[str, Any] = {}
    for part in form.iter_parts():
        content: Any = part.get_payload(decode=True)
        name = str(part.get_param("name", header="Content-Disposition") or "")
        value = content if part.get_filename() else content.decode("utf-8", "replace")
        if found := NESTED.fullmatch(name):
            fields.setdefault(found[1], {})[found[2]] = value
        else:
            fields[name] = value
    return fields


def read_picture(value: Any) -> bytes:
    """A file, a data address, or an object with one as `image_url`. Addresses elsewhere are not fetched."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str) and value.startswith("{"):
        value = read_mapping(value, "input_reference")
    if isinstance(value, Mapping):
        value = value.get("image_url", "")
        value = value.get("url", "") if isinstance(value, Mapping) else value
    found = DATA.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Refused("input_reference is the picture: a file, or a data:image/...;base64, address.")
    try:
        return base64.b64decode(found[1], validate=True)
    except binascii.Error:
        raise Refused("input_reference is not base64.") from None


def read_mapping(value: Any, name: str) -> dict[str, Any]:
    """An object, or its JSON as text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping):
        raise Refused(f"{name} is a JSON object.")
    return dict(value)


def read_number(value: Any, name: str, kind: type[int] | type[float]) -> Any:
    """A number, or its text in a form."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        raise Refused(f"{name} is a number.") from None

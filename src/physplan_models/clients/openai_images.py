"""OpenAI's `POST /images/edits`: a picture and an instruction in, a picture in base64 out."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from physplan.calls.protocol import IMAGE_TYPES, ImagePart, Request

MARKS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


def edit_arguments(request: Request, *, own: bool) -> dict[str, Any]:
    """Of the SDK's `images.edit`. OpenAI's own server always sends base64, and refuses the option."""
    named = [
        (f"picture{n}.{IMAGE_TYPES[image.media_type]}", image.data, image.media_type)
        for n, image in enumerate(request.images)
    ]
    arguments: dict[str, Any] = {
        "model": request.model,
        "prompt": request.text,
        # One picture is one field `image`, which every server knows; a list is sent as `image[]`.
        "image": named[0] if len(named) == 1 else named,
        **request.options,
    }
    if not own:
        arguments["response_format"] = "b64_json"
        if request.seed is not None:
            arguments["extra_body"] = {"seed": request.seed}  # not OpenAI's, but of servers with open models
    return arguments


def edited_images(response: Any) -> tuple[ImagePart, ...] | None:
    """The pictures of a reply; None where it holds none as `b64_json`, or anything else beside them."""
    items = getattr(response, "data", None)
    encoded = [getattr(item, "b64_json", "") for item in items] if isinstance(items, list) else []
    if not encoded or not all(isinstance(text, str) and text for text in encoded):
        return None
    try:
        found = [base64.b64decode(text, validate=True) for text in encoded]
    except (binascii.Error, ValueError):  # not base64, or not even ASCII
        return None
    return tuple(ImagePart(data=data, media_type=_media_type(data)) for data in found)


def _media_type(data: bytes) -> str:
    known = (kind for mark, kind in MARKS.items() if data.startswith(mark))
    return next(known, "application/octet-stream")

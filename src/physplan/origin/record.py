"""How a video was made, as one text in its own file, and read back from an untrusted file."""

from __future__ import annotations

import base64
import binascii
import io
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.graph.errors import GraphError, ParseError
from physplan.graph.json_values import Limits, read_integer, read_object, read_string
from physplan.graph.parsing import parse_json
from physplan.video.marks import DIGITAL_SOURCE_TYPE
from physplan.video.untrusted_video import NOT_UTF8, read_tags

if TYPE_CHECKING:
    from PIL.Image import Image

TAG = "physplan"
VERSION = 1
MAX_PICTURE = 400_000  # bytes of a PNG that is worth its place in every copy of the video
MAX_PLAN = 400_000  # characters
MAX_BYTES = 2_000_000
_LIMITS = Limits(max_bytes=MAX_BYTES, max_depth=60, max_entries=200_000)
_HASH = re.compile(r"[0-9a-f]{64}")


class OriginError(PhysPlanError):
    """A video whose words about itself are missing or cannot be used."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a run was given and made. No path, no key, no time and no name of a person or machine is in it."""

    prompt: str
    method: str
    seed: int
    preset: str
    settings: Mapping[str, Any]  # by dotted names: those that decide the result
    versions: Mapping[str, str]
    hashes: Mapping[str, str]  # picture, plan, keyframes, frames: SHA-256
    keyframes_given: bool = False
    plan: Mapping[str, Any] | None = field(default=None, repr=False)  # JSON, not yet checked
    picture: bytes | None = field(default=None, repr=False)  # PNG; None where it is too large

    def chain(self) -> EventChain | None:
        """The plan, checked; it must be the one that the hash names."""
        return None if self.plan is None else EventChain.from_json(self.plan)

    def image(self) -> Image | None:
        """The picture that the video begins with, checked by its limits."""
        from physplan.pictures import decode_picture

        if self.picture is None:
            return None
        return decode_picture(self.picture, "The picture in the video's metadata")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models that took part."""
        named = [self.settings.get(f"{part}.name") for part in ("reasoner", "editor")]
        for part in ("segmenter", "depth", "encoder"):
            component = self.settings.get(f"perception.{part}")
            named.append(component.get("name") if isinstance(component, Mapping) else None)
        named.append(self.settings.get("video.model"))
        return tuple(dict.fromkeys(name for name in named if isinstance(name, str)))

    def to_text(self) -> str:
        """One line of JSON, the same for the same run."""
        content: dict[str, Any] = {
            "version": VERSION,
            **{name: getattr(self, name) for name in ("prompt", "method", "seed", "preset")},
            **{name: dict(getattr(self, name)) for name in ("settings", "versions", "hashes")},
        }
        if self.keyframes_given:
            content["keyframes_given"] = True
        if self.plan is not None and len(_dense(self.plan)) <= MAX_PLAN:
            content["plan"] = self.plan
        if self.picture is not None and len(self.picture) <= MAX_PICTURE:
            content["picture"] = base64.b64encode(self.picture).decode("ascii")
        return _dense(content)

    @classmethod
    def from_text(cls, text: str) -> Origin:
        """Every field is checked. A GraphError says what is wrong and where."""
        value = parse_json(text, _LIMITS)
        read_object(value, "$")
        if read_integer(value.get("version"), "$.version") != VERSION:
            raise ParseError(
                "$.version", f"is {value['version']}, and this program reads {VERSION}: update it"
            )
        known = ("prompt", "method", "seed", "preset", "settings", "versions", "hashes")
        fields = read_object(value, "$", ("version", *known), ("keyframes_given", "plan", "picture"))
        plan = fields.get("plan")
        return cls(
            prompt=read_string(fields["prompt"], "$.prompt", 10_000),
            method=read_string(fields["method"], "$.method", 100),
            seed=read_integer(fields["seed"], "$.seed"),
            preset=read_string(fields["preset"], "$.preset", 100),
            settings=_as_it_is(fields["settings"], "$.settings"),
            versions=_texts(fields["versions"], "$.versions"),
            hashes=_hashes(fields["hashes"], "$.hashes"),
            keyframes_given=fields.get("keyframes_given") is True,
            plan=None if plan is None else _as_it_is(plan, "$.plan"),
            picture=_bytes(fields["picture"], "$.picture") if "picture" in fields else None,
        )


def read_origin(path: str | os.PathLike[str]) -> Origin:
    """What a video file says of itself. No frame is decoded."""
    text = read_tags(path).get(TAG)
    if text is None:
        raise OriginError(
            f"{os.fspath(path)} does not say how it was made: another program wrote it, or its metadata were "
            "removed on the way."
        )
    if text.startswith(NOT_UTF8):
        raise OriginError(
            f"What {os.fspath(path)} says of itself is not UTF-8 text: it was damaged or changed on the way."
        )
    try:
        return Origin.from_text(text)
    except GraphError as error:
        raise OriginError(f"What {os.fspath(path)} says of itself cannot be used ({error}).") from None


def digital_source_type(path: str | os.PathLike[str]) -> str | None:
    """IPTC's word for how it came about, as the file gives it."""
    said = read_tags(path).get(DIGITAL_SOURCE_TYPE.lower())
    return None if said is None else said[:200].rsplit("/", 1)[-1]


def png_of(image: Image) -> bytes:
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return encoded.getvalue()


def _dense(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _as_it_is(value: object, at: str) -> dict[str, Any]:
    """In settings and in plans, null is a value."""
    read_object(value, at)
    assert isinstance(value, dict)
    return value


def _texts(value: object, at: str) -> dict[str, str]:
    return {name: read_string(text, f"{at}.{name}", 200) for name, text in read_object(value, at).items()}


def _hashes(value: object, at: str) -> dict[str, str]:
    found = _texts(value, at)
    for name, text in found.items():
        if not _HASH.fullmatch(text):
            raise ParseError(f"{at}.{name[:80]}", "is not a SHA-256")
    return found


def _bytes(value: object, at: str) -> bytes:
    text = read_string(value, at, MAX_PICTURE * 4 // 3 + 4)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ParseError(at, "is not base64") from None

"""Content credentials (C2PA): sign a video, and check a signed one.

Nothing is fetched: neither a manifest that a file only points at, nor an answer about a certificate.
"""

from __future__ import annotations

import importlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from physplan import __version__
from physplan.errors import PhysPlanError
from physplan.extras import need_extra
from physplan.files import write_atomic
from physplan.foreign import read_file
from physplan.origin.record import Origin
from physplan.video.marks import MADE_BY_A_MODEL
from physplan.video.untrusted_video import open_video
from physplan_signing.certificates import EXTRA, MAX_PEM, Credential

State = Literal["valid", "untrusted", "tampered", "none"]
ASSERTION = "org.physplan.origin"
MAX_VIDEO = 2_000_000_000
_OFFLINE: dict[str, Any] = {
    "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False},
    "builder": {"thumbnail": {"enabled": False}},  # of a small picture it would be larger than the video
}
_UNKNOWN_SIGNER = "signingCredential.untrusted"


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What the file's credentials are worth. `said` is what the signer asserts, `reasons` what is wrong."""

    state: State
    signer: str = ""
    program: str = ""
    said: dict[str, str] | None = None
    reasons: tuple[str, ...] = ()


def manifest(origin: Origin, title: str) -> dict[str, Any]:
    """What is signed: that it was created by a model, from which plan, and with which models."""
    agent = {"name": "PhysPlan", "version": __version__}
    created = {"action": "c2pa.created", "digitalSourceType": MADE_BY_A_MODEL, "softwareAgent": agent}
    told = {f"{name}_sha256": value for name, value in origin.hashes.items()}
    return {
        "claim_generator_info": [agent],
        "title": title,
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [created]}},
            {
                "label": ASSERTION,
                "data": {**told, "models": ", ".join(origin.models), "method": origin.method},
            },
        ],
    }


def sign_video(video: Path, target: Path, *, credential: Credential, origin: Origin, frame: bytes) -> None:
    """A signed copy of an mp4; `frame`, a PNG, is named as what it was made from."""
    c2pa = _library()
    content, signed = read_file(video, limit=MAX_VIDEO), io.BytesIO()
    about = {"title": "first frame", "relationship": "inputTo", "format": "image/png"}
    try:
        info = c2pa.C2paSignerInfo(credential.algorithm.encode(), credential.chain, credential.key, None)
        builder = c2pa.Builder(manifest(origin, target.name), context=_context())
        builder.add_ingredient(about, "image/png", io.BytesIO(frame))
        builder.sign(c2pa.Signer.from_info(info), "video/mp4", io.BytesIO(content), signed)
    except c2pa.C2paError as error:
        raise PhysPlanError(f"{video} cannot be signed with this certificate ({_words(error)}).") from None
    write_atomic(target, signed.getvalue())


def read_credentials(video: str | os.PathLike[str], *, trusted: Path | None = None) -> Credentials:
    """`trusted`: a PEM file with the authorities whose signers are believed."""
    c2pa = _library()
    context = _context(_authorities(trusted))
    open_video(video).close()  # says in a sentence what is no video at all
    content = io.BytesIO(read_file(video, limit=MAX_VIDEO))
    try:
        with c2pa.Reader("video/mp4", content, context=context) as reader:
            state, found = reader.get_validation_state(), json.loads(reader.json())
    except c2pa.C2paError.ManifestNotFound:
        return Credentials(state="none")
    except (c2pa.C2paError, ValueError) as error:
        return Credentials(state="tampered", reasons=(_words(error),))
    return _judged(state, found)


def _judged(state: object, found: dict[str, Any]) -> Credentials:
    active = found.get("manifests", {}).get(found.get("active_manifest"), {})
    signature, programs = active.get("signature_info", {}), active.get("claim_generator_info") or [{}]
    codes = tuple(str(one.get("code", ""))[:200] for one in found.get("validation_status", []))
    wrong = tuple(code for code in codes if code != _UNKNOWN_SIGNER)
    known: State = "valid" if state == "Trusted" else "untrusted"
    return Credentials(
        state=known if state in ("Trusted", "Valid") and not wrong else "tampered",
        signer=", ".join(
            str(signature[name])[:200] for name in ("common_name", "issuer") if name in signature
        ),
        program=" ".join(str(programs[0].get(name, ""))[:100] for name in ("name", "version")).strip(),
        said=dict(_said(active)),
        reasons=wrong,
    )


def _said(active: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for assertion in active.get("assertions", []):
        data = assertion.get("data")
        if assertion.get("label") == ASSERTION and isinstance(data, dict):
            yield from ((str(name)[:80], str(value)[:300]) for name, value in [*data.items()][:20])
        elif str(assertion.get("label")).startswith("c2pa.actions") and isinstance(data, dict):
            for action in data.get("actions", [])[:20]:
                kind = str(action.get("digitalSourceType", "")).rsplit("/", 1)[-1]
                yield str(action.get("action"))[:80], kind[:80] or "said"
    for ingredient in active.get("ingredients", [])[:20]:
        yield "made from", str(ingredient.get("title"))[:200]


def _authorities(trusted: Path | None) -> str | None:
    if trusted is None:
        return None
    try:
        text = read_file(trusted, limit=MAX_PEM).decode("ascii")
    except (OSError, UnicodeDecodeError):
        raise PhysPlanError(f"{trusted} cannot be read as certificates: give a PEM file.") from None
    if "BEGIN CERTIFICATE" not in text:
        raise PhysPlanError(f"{trusted} holds no certificate: give a PEM file.")
    return text


def _library() -> Any:
    """Without types: its own say less than it has."""
    need_extra("c2pa", extra=EXTRA)
    return importlib.import_module("c2pa")


def _context(trusted: str | None = None) -> Any:
    c2pa = _library()
    trust = {"trust": {"trust_anchors": trusted}} if trusted is not None else {}
    try:
        return c2pa.Context(c2pa.Settings.from_dict({**_OFFLINE, **trust}))
    except c2pa.C2paError as error:
        raise PhysPlanError(f"The trusted certificates cannot be used ({_words(error)}).") from None


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200]

"""A model by one word of the command line: `provider:model`, or `provider:model@http://server/v1`."""

from __future__ import annotations

import os
import re
from typing import Any

from physplan.calls.addresses import check_url
from physplan.calls.gateway import Gateway
from physplan.calls.settings import CallSettings, connect
from physplan.errors import PhysPlanError

# `server`: any that speaks as OpenAI's does.
PROVIDERS = {"gemini": "gemini", "openai": "openai", "server": "openai"}


def connect_named(
    spec: str,
    folder: str | os.PathLike[str] | None,
    *,
    what: str = "judge",
    consent: tuple[str, ...] | None = None,
    **settings: Any,
) -> tuple[Gateway, str]:
    """The gateway and the model's name. An address in `spec` is the user's own word for its host, unless
    `consent` names the hosts that may be sent a key: a spec from a file says nothing of the user's will."""
    match = re.fullmatch(r"(gemini|openai|server):([^@]+)(?:@(.+))?", spec)
    if not match or (match[1] == "server" and not match[3]):
        raise PhysPlanError(
            f"{spec!r} names no {what}: write gemini:MODEL, openai:MODEL or "
            "server:MODEL@http://localhost:8000/v1."
        )
    named = ((check_url(match[3]),) if match[3] else ()) if consent is None else consent
    calls = CallSettings(folder=folder, base_url=match[3], allow_hosts=named, **settings)
    return connect(PROVIDERS[match[1]], calls), match[2]

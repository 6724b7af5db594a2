"""Who answers the calls of reasoners and editors, and what that takes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from physplan.calls.addresses import is_local


@dataclass(frozen=True, kw_only=True)
class Provider:
    """Who answers calls: `keys` are alternatives; `server` is the variable and the default of an address."""

    keys: tuple[str, ...]
    extra: str
    module: str
    server: tuple[str, str] | None = None


PROVIDERS = {
    "gemini": Provider(keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"), extra="gemini", module="google.genai"),
    "openai": Provider(
        keys=("OPENAI_API_KEY",),
        extra="openai",
        module="openai",
        server=("OPENAI_BASE_URL", "http://localhost:8000/v1"),
    ),
}


def server_of(provider: str, base_url: str | None) -> str | None:
    """Where a provider's calls go: as configured, as the environment says, where it usually is.

    None stands for the provider's own address.
    """
    server = PROVIDERS[provider].server
    return base_url or (os.environ.get(server[0]) or server[1] if server else None)


def own_server(provider: str, base_url: str | None) -> bool:
    """Whether the calls stay on this machine or its network."""
    url = server_of(provider, base_url)
    return url is not None and is_local(url)

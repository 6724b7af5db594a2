"""Where and how models are called: one set of settings for planning and for keyframes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from physplan.calls.clients.faults import is_local
from physplan.calls.clients.offline import OfflineClient
from physplan.calls.gateway import CallPolicy, CallRecord, Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import Client
from physplan.calls.secrets import load_secret, need_secret
from physplan.calls.store import AnswerStore
from physplan.errors import PhysPlanError

Provider = Literal["gemini", "openai"]
LEDGER = "ledger.jsonl"


@dataclass(frozen=True, kw_only=True)
class CallSettings:
    """`folder` holds stored answers and the ledger; `model` and `base_url` override the preset's."""

    folder: str | os.PathLike[str] | None = None
    model: str | None = None
    base_url: str | None = None
    budget: float | None = None  # USD, over all calls of the folder's ledger
    prices: str | os.PathLike[str] | None = None
    temperature: float | None = 0.0  # None leaves it to the server: some models take no other
    max_output_tokens: int = 16_384
    offline: bool = False
    policy: CallPolicy = field(default_factory=CallPolicy)
    on_call: Callable[[CallRecord], None] | None = None


def connect(provider: Provider, settings: CallSettings) -> Gateway:
    """A gateway to a provider. Keys come from the environment or a secret file; offline none is needed."""
    folder = Path(settings.folder) if settings.folder is not None else None
    return Gateway(
        OfflineClient(provider) if settings.offline else _client(provider, settings.base_url),
        store=AnswerStore(folder) if folder else None,
        ledger=Ledger(folder / LEDGER if folder else None, budget=settings.budget),
        prices=PriceTable.load(settings.prices),
        policy=settings.policy,
        on_call=settings.on_call,
    )


def _client(provider: Provider, base_url: str | None) -> Client:
    if base_url is not None:
        check_url(base_url)
    if provider == "gemini":
        from physplan.calls.clients.gemini import GeminiClient

        return GeminiClient(
            need_secret("GEMINI_API_KEY", "GOOGLE_API_KEY", service="Gemini"), base_url=base_url
        )
    from physplan.calls.clients.openai import OpenAIClient

    if base_url is not None and is_local(base_url):
        return OpenAIClient(load_secret("OPENAI_API_KEY"), base_url=base_url)
    return OpenAIClient(need_secret("OPENAI_API_KEY", service="This server"), base_url=base_url)


def check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PhysPlanError(
            "The server's address must look like https://host/v1 or http://localhost:8000/v1."
        )
    if parts.username or parts.password or parts.query:
        raise PhysPlanError("The server's address must not hold a key: set it in the environment instead.")
    if parts.scheme == "http" and not is_local(url):
        raise PhysPlanError(
            f"{parts.hostname} is not on this network: use https, or the key can be read on the way."
        )

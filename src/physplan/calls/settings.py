"""Where and how models are called: one set of settings for planning and for keyframes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from physplan.calls.gateway import CallPolicy, CallRecord, Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.offline import OfflineClient
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import Client
from physplan.calls.providers import find_provider
from physplan.calls.store import AnswerStore
from physplan.errors import PhysPlanError

LEDGER = "ledger.jsonl"


@dataclass(frozen=True, kw_only=True)
class CallSettings:
    """`folder` holds stored answers and the ledger; `model` and `base_url` override the preset's."""

    folder: str | os.PathLike[str] | None = None
    model: str | None = None
    base_url: str | None = None
    allow_hosts: tuple[str, ...] = ()  # that may be sent a key, beside the provider's own and this machine
    budget: float | None = None  # USD, over all calls of the folder's ledger
    total_budget: float | None = None  # USD, over all calls that are in `total_ledger` too
    total_ledger: str | os.PathLike[str] | None = None  # of several runs together
    prices: str | os.PathLike[str] | None = None
    temperature: float | None = 0.0  # None leaves it to the server: some models take no other
    max_output_tokens: int = 16_384
    offline: bool = False
    policy: CallPolicy = field(default_factory=CallPolicy)
    on_call: Callable[[CallRecord], None] | None = None


def connect(provider: str, settings: CallSettings) -> Gateway:
    """A gateway to a provider. Keys come from the environment or a secret file; offline none is needed."""
    called, allowed = find_provider(provider), settings.allow_hosts
    offline = OfflineClient(provider) if settings.offline else None
    return gateway_of(offline or called.connect(settings.base_url, allowed), settings)


def gateway_of(client: Client, settings: CallSettings, *, prices: PriceTable | None = None) -> Gateway:
    """A gateway to a client that is there, with the store, the ledger and the budgets of the settings."""
    folder = Path(settings.folder) if settings.folder is not None else None
    total = None
    if settings.total_ledger is not None:
        total = Ledger(settings.total_ledger, budget=settings.total_budget)
    elif settings.total_budget is not None:
        raise PhysPlanError(
            "A budget for several runs needs the ledger that they share: runtime.total_ledger."
        )
    return Gateway(
        client,
        store=AnswerStore(folder) if folder else None,
        ledger=Ledger(folder / LEDGER if folder else None, budget=settings.budget, total=total),
        prices=prices or PriceTable.load(settings.prices),
        policy=settings.policy,
        on_call=settings.on_call,
    )

"""What a part that calls models says of itself before it is made: its provider, its calls and their price."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from physplan.calls.addresses import is_local
from physplan.calls.prices import PriceTable
from physplan.calls.protocol import Usage
from physplan.calls.providers import find_provider

if TYPE_CHECKING:
    from physplan.calls.settings import CallSettings


@dataclass(frozen=True, kw_only=True)
class CostEstimate:
    calls: int = 0
    usd: float | None = 0.0  # None: the price is not known


@dataclass(frozen=True, kw_only=True)
class CallsOut:
    """`calls` of a number of events; `tokens` and `images` of one answer, as they usually are."""

    provider: str
    model: str
    calls: Callable[[int], int]
    tokens: tuple[int, int]  # in and out
    images: int = 0
    url: str | None = None  # the default base URL; None: the provider's own server

    def keys(self, base_url: str | None = None) -> tuple[str, ...]:
        """The variables of which one must hold a key; none for a server of one's own."""
        provider = find_provider(self.provider)
        return () if provider.keyless and is_local(self.address(base_url)) else provider.keys

    def forecast(
        self,
        events: int,
        *,
        model: str | None = None,
        base_url: str | None = None,
        prices: str | os.PathLike[str] | None = None,
        size: str = "1K",
    ) -> CostEstimate:
        calls = self.calls(events)
        price = PriceTable.load(prices).find(model or self.model)
        if price is None:
            return CostEstimate(calls=calls, usd=0.0 if is_local(self.address(base_url)) else None)
        usage = Usage(input_tokens=self.tokens[0], output_tokens=self.tokens[1], images=self.images)
        return CostEstimate(calls=calls, usd=calls * price.cost(usage, size=size))

    def at(self, settings: CallSettings) -> CallSettings:
        """The settings with the address that is asked."""
        return replace(settings, base_url=self.address(settings.base_url))

    def address(self, base_url: str | None) -> str:
        provider = find_provider(self.provider)
        return base_url or provider.chosen_url or self.url or provider.url


def estimate_cost(part: object, events: int, **settings: str | None) -> CostEstimate:
    """What a registered part would call and cost, by its `calls_out`.

    None: it calls no API. A part without this attribute may call any, at an unknown price.
    """
    if not hasattr(part, "calls_out"):
        return CostEstimate(calls=events, usd=None)
    described: CallsOut | None = part.calls_out
    return described.forecast(events, **settings) if described else CostEstimate()  # type: ignore[arg-type]

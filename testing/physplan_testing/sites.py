"""A provider's loopback server, and the real SDK in front of it, with a folder for stored answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from physplan.calls.gateway import CallPolicy, Gateway
from physplan.calls.ledger import Ledger
from physplan.calls.secrets import Secret
from physplan.calls.store import AnswerStore
from physplan_models.clients.gemini import GeminiClient
from physplan_models.clients.openai import OpenAIClient
from physplan_models.reasoning.vlm import VLMReasoner
from physplan_testing.loopback import GeminiServer, Loopback, OpenAIServer, Respond

MODEL = "gemini-3-flash-preview"
QUICK = CallPolicy(timeout=30.0, first_wait=0.01)  # generous: tests share their machine


class Site:
    """A server, and reasoners that ask it. `folder` holds the stored answers and the ledger."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.server = server
        self.folder = folder

    def gateway(self, *, policy: CallPolicy = QUICK, budget: float | None = None) -> Gateway:
        key = Secret(self.server.key)
        kind = GeminiClient if isinstance(self.server, GeminiServer) else OpenAIClient
        return Gateway(
            kind(key, base_url=self.server.url),
            store=AnswerStore(self.folder),
            ledger=Ledger(self.folder / "ledger.jsonl", budget=budget),
            policy=policy,
        )

    def reasoner(self, kind: type[VLMReasoner] = VLMReasoner, **options: Any) -> VLMReasoner:
        return kind(self.gateway(**options), MODEL)


MakeSite = Callable[[Respond], Site]


@pytest.fixture(params=[GeminiServer, OpenAIServer], ids=["gemini", "openai"])
def make_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeSite]:
    with ExitStack() as stack:
        yield lambda respond: Site(stack.enter_context(request.param(respond)), tmp_path / "calls")


@pytest.fixture
def gemini_site(tmp_path: Path) -> Iterator[MakeSite]:
    """For what does not depend on the provider."""
    with ExitStack() as stack:
        yield lambda respond: Site(stack.enter_context(GeminiServer(respond)), tmp_path / "calls")

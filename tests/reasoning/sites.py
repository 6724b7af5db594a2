"""A provider's loopback server, and the real SDK in front of it, with a folder for stored answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from loopback import GeminiServer, Loopback, Respond
from physplan.reasoning.clients.gemini import GeminiClient
from physplan.reasoning.clients.openai import OpenAIClient
from physplan.reasoning.gateway import CallPolicy, Gateway
from physplan.reasoning.ledger import Ledger
from physplan.reasoning.secrets import Secret
from physplan.reasoning.store import AnswerStore
from physplan.reasoning.vlm import VLMReasoner

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

    def reasoner(self, kind: type[VLMReasoner] = VLMReasoner, **options: object) -> VLMReasoner:
        return kind(self.gateway(**options), MODEL)


MakeSite = Callable[[Respond], Site]

"""The client for replays: stored answers only."""

from __future__ import annotations

from physplan.calls.protocol import CallFault, Reply, Request


class OfflineClient:
    """Answers nothing; in the name of a provider, so that the keys of its stored answers match."""

    local = True

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def ready(self) -> None: ...

    def complete(self, request: Request, *, timeout: float) -> Reply:
        raise CallFault(
            f"No stored answer for this call ({request.purpose}, {request.model}), and calls are off: "
            "leave out runtime.offline to ask the model."
        )

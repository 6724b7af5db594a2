"""Backends by name, imported only when asked for; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

from physplan.errors import PhysPlanError


class Registry(dict[str, str]):
    """Name -> "package.module:attribute". `kind` is the noun used in messages ("segmenter").

    `providers` says of the backends that call out whom they call ("gemini", "openai").
    """

    def __init__(
        self, kind: str, entries: Mapping[str, str], *, providers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(entries)
        self.kind = kind
        self.providers = dict(providers or {})

    def check(self, name: str) -> None:
        """An unknown name is an error."""
        if name not in self:
            raise PhysPlanError(f"There is no {self.kind} called {name!r}. {did_you_mean(name, self)}")

    def provider(self, name: str) -> str | None:
        """Whom a backend calls; None where it works on this machine alone."""
        self.check(name)
        return self.providers.get(name)

    def load(self, name: str) -> Any:
        """The registered class (or function) itself."""
        self.check(name)
        module, attribute = self[name].split(":")
        return getattr(importlib.import_module(module), attribute)


def did_you_mean(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """ "Did you mean 'x'?" where one is close; else the list of all."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(sorted(known))}."

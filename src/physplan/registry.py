"""Backends by name, imported only when asked for; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from physplan.errors import PhysPlanError


class Registry(dict[str, str]):
    """Name -> "package.module:attribute". `kind` is the noun used in messages ("segmenter").

    `callers` are those that call out, whose module can be asked for the key they need (`calls_out`) at no
    cost; `prompts` names, as entries do, functions that refuse sentences which a backend cannot use.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, str],
        *,
        callers: Iterable[str] = (),
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(entries)
        self.kind = kind
        self.callers = frozenset(callers)
        self.prompts = dict(prompts or {})

    def check(self, name: str) -> None:
        """An unknown name is an error."""
        if name not in self:
            raise PhysPlanError(f"There is no {self.kind} called {name!r}. {did_you_mean(name, self)}")

    def check_prompt(self, name: str, prompt: str) -> None:
        """Refuse a sentence that the backend would refuse, without loading it."""
        self.check(name)
        if name in self.prompts:
            _found(self.prompts[name])(prompt)

    def load(self, name: str) -> Any:
        """The registered class (or function) itself."""
        self.check(name)
        return _found(self[name])


def _found(entry: str) -> Any:
    module, attribute = entry.split(":")
    return getattr(importlib.import_module(module), attribute)


def did_you_mean(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """ "Did you mean 'x'?" where one is close; else the list of all."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(sorted(known))}."

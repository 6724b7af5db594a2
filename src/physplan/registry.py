"""Backends by name, imported only when asked for; a wrong name is answered with the nearest right one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from physplan import plugins
from physplan.errors import PhysPlanError

if TYPE_CHECKING:
    from PIL.Image import Image


class Registry(dict[str, str]):
    """Name -> "package.module:attribute". `kind` is the noun used in messages ("segmenter").

    `group` names the entry points that installed packages add (`physplan.plugins`), `<group>.prompts` their
    functions that refuse sentences which a backend cannot use, `<group>.pictures` those for pictures.
    `callers` and `<group>.callers` are those that call out: their module can be asked for the key they need
    (`calls_out`) at no cost.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, str],
        *,
        group: str,
        callers: Iterable[str] = (),
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(entries)
        for name, entry in plugins.entries(group).items():
            if name in self:
                raise PhysPlanError(
                    f"The {kind} {name!r} is PhysPlan's own: {entry} must be registered under another name."
                )
            self[name] = entry
        self.kind = kind
        self.callers = frozenset([*callers, *plugins.entries(f"{group}.callers")])
        self.prompts = {**(prompts or {}), **plugins.entries(f"{group}.prompts")}
        self.pictures = plugins.entries(f"{group}.pictures")
        self.own: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> None:
        """Register a part of your own; a name that is added again has the newer part."""
        if name in self and name not in self.own:
            raise PhysPlanError(f"There is a {self.kind} {name!r} already: choose another name.")
        self.own[name] = part
        self[name] = f"{type(part).__module__}:{name}"

    def check(self, name: str) -> None:
        """An unknown name is an error."""
        if name not in self:
            raise PhysPlanError(f"There is no {self.kind} called {name!r}. {did_you_mean(name, self)}")

    def check_prompt(self, name: str, prompt: str) -> None:
        """Refuse a sentence that the backend would refuse, without loading it."""
        self.check(name)
        if name in self.prompts:
            plugins.load(self.prompts[name])(prompt)

    def check_picture(self, name: str, image: Image) -> None:
        """Refuse a picture that the backend cannot use, without loading it."""
        self.check(name)
        if name in self.pictures:
            plugins.load(self.pictures[name])(image)

    def load(self, name: str) -> Any:
        """The registered class (or function) itself."""
        self.check(name)
        return self.own[name] if name in self.own else plugins.load(self[name])


def did_you_mean(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """Of a wrong name: "Did you mean 'x'?" where one is close; else the list of all."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(sorted(known))}."

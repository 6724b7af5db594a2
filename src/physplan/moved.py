"""Modules that moved to another package answer under their old names too, with a DeprecationWarning.

The package that has a module now registers it as `physplan.moved`: `"physplan.old.name" = "new.name"`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class MovedModules(MetaPathFinder, Loader):
    """The last of the finders: asked only for what is not where it was."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("physplan.") or fullname not in _moved():
            return None
        text = f"{fullname} is now {_moved()[fullname]}: import it by that name."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(_moved()[module.__name__])


def _moved() -> dict[str, str]:
    from physplan import plugins  # when asked: reading the entry points takes time

    return dict(plugins.entries("moved"))

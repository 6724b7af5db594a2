"""Optional dependencies: one sentence with the command that installs what is missing."""

from __future__ import annotations

import importlib.util

from physplan.errors import PhysPlanError


def need_extra(module: str, *, extra: str) -> None:
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing too
        found = False
    if not found:
        raise PhysPlanError(
            f'This needs an optional part that is not installed: pip install "physplan[{extra}]".'
        )

"""What installed packages register through entry points: families, editors, methods, commands, presets.

A group is named `physplan.<kind>` in a package's `pyproject.toml`; an entry is `name = "module:attribute"`.
PhysPlan's own sandbox, benchmarks and studio register in the same way (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

from physplan.errors import PhysPlanError


@cache
def _installed() -> Any:
    """Of every distribution, read once: to read them for each group takes most of a command's time."""
    return metadata.entry_points()


@cache
def entries(group: str) -> Mapping[str, str]:
    """Name -> "module:attribute" of one group, over every installed distribution; nothing is imported."""
    found: dict[str, str] = {}
    for point in _installed().select(group=f"physplan.{group}"):
        if found.setdefault(point.name, point.value) != point.value:
            raise PhysPlanError(
                f"Two installed packages register {point.name!r} as physplan.{group}: {found[point.name]} "
                f"and {point.value}. Uninstall one of them."
            )
    return found


def load(entry: str) -> Any:
    """The object behind "module:attribute", or the module itself where no attribute is named."""
    module, _, attribute = entry.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found

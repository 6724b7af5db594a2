"""`physplan.calls` is used by many and knows none of them."""

from __future__ import annotations

import ast
from pathlib import Path

import physplan.calls

BELOW = {"calls", "errors", "extras", "files", "foreign", "graph", "registry"}


def test_calls_import_only_what_is_below_them() -> None:
    found = set()
    modules = sorted(Path(physplan.calls.__file__).parent.rglob("*.py"))
    assert len(modules) > 10
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {name.split(".")[1] for name in names if name.startswith("physplan.")}
    assert found <= BELOW

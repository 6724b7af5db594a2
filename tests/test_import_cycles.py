"""No cycle of imports: whichever module of `src` is the first to be imported, what it needs is there.

A package's own `__init__` is begun before its modules, so a module that imports a sibling makes no cycle.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"


def modules(source: Path) -> dict[str, ast.Module]:
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text("utf-8"))
    return found


def when_imported(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run with the module: not those of functions, nor those for type checkers."""
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from when_imported(node.orelse)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from when_imported(ast.iter_child_nodes(node))


def lazy_homes(tree: ast.Module) -> dict[str, str]:
    """Of a package with `lazy_names`: the module that each name comes from."""
    outer = [node for node in tree.body if isinstance(node, ast.Assign | ast.If)]
    calls = (node for one in outer for node in ast.walk(one) if isinstance(node, ast.Call))
    tables = [
        ast.literal_eval(call.args[1]) for call in calls if getattr(call.func, "id", "") == "lazy_names"
    ]
    return {name: module for table in tables for module, names in table.items() for name in names.split()}


def parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def needs(name: str, found: Mapping[str, ast.Module], lazy: Mapping[str, Mapping[str, str]]) -> set[str]:
    wanted: set[str] = set()
    for node in when_imported(found[name].body):
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
            continue
        assert node.module, f"{name}: a relative import"
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            if alias.name in lazy.get(node.module, {}):
                inside = f"{node.module}.{lazy[node.module][alias.name]}"
            wanted.add(inside if inside in found else node.module)
    begun = {*parents(name), name}  # before the module's first line; a name taken from one of them counts
    wanted |= {parent for one in wanted for parent in parents(one) if parent not in begun}
    return (wanted & found.keys()) - {name}


def cycle(source: Path) -> list[str]:
    """The modules of a cycle, or nothing."""
    found = modules(source)
    lazy = {name: homes for name, tree in found.items() if (homes := lazy_homes(tree))}
    try:
        TopologicalSorter({name: needs(name, found, lazy) for name in found}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_modules_of_all_packages_import_each_other_without_a_cycle() -> None:
    assert cycle(SOURCE) == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a/__init__.py": "", "a/b.py": "from a import c", "a/c.py": "from a.b import f"}, True),
        ({"a/__init__.py": "from a.b import f", "a/b.py": "from a.c import g", "a/c.py": ""}, False),
        ({"a/__init__.py": "from a.b import f", "a/b.py": "from a import f"}, True),
        ({"a/__init__.py": "import a.b", "a/b.py": "import d", "d.py": "import a.c", "a/c.py": ""}, True),
        ({"a/__init__.py": "", "a/b.py": "import a.c", "a/c.py": "def f():\n    from a import b"}, False),
        (
            {
                "a/__init__.py": "__getattr__ = lazy_names(__name__, {'b': 'f'})",
                "a/b.py": "import a.c",
                "a/c.py": "from a import f",
            },
            True,
        ),
    ],
)  # fmt: skip
def test_a_cycle_is_found(files: dict[str, str], found: bool, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert bool(cycle(tmp_path)) == found

"""Packages import only downwards, in the order of CONTRIBUTING.md; tests and benchmarks stay apart."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "physplan"
TOP = ("__init__", "__main__")  # the package's own door: it may open onto anything


def order() -> list[str]:
    (block,) = re.findall(r"```layers\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    return block.split()


def imports(node: ast.AST) -> Iterator[str]:
    """Modules that are imported when the code runs; what is for type checkers alone is left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from imports(ast.Module(body=[other], type_ignores=[]))
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            module = child.module or ""
            yield from (f"{module}.{alias.name}" for alias in child.names)
        else:
            yield from imports(child)


def own(modules: Iterator[str]) -> set[str]:
    """The parts of physplan among imported names."""
    return {name.split(".")[1] for name in modules if name.startswith("physplan.")} - {"__version__"}


def layer(path: Path) -> str:
    inside = path.relative_to(SOURCE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def test_the_list_names_every_package_and_module_once() -> None:
    found = {layer(path) for path in SOURCE.rglob("*.py")} - set(TOP)
    assert sorted(order()) == sorted(found)


@pytest.mark.parametrize("package", order())
def test_a_package_imports_only_what_stands_before_it(package: str) -> None:
    allowed = set(order()[: order().index(package) + 1])
    wrong = {
        f"{path.relative_to(ROOT)} imports {', '.join(sorted(above))}"
        for path in SOURCE.rglob("*.py")
        if layer(path) == package and (above := own(imports(ast.parse(path.read_text("utf-8")))) - allowed)
    }
    assert not wrong


@pytest.mark.parametrize(
    ("folder", "other"), [("tests", "benchmarks"), ("benchmarks", "tests"), ("doubles", "tests")]
)
def test_tests_and_benchmarks_stay_apart(folder: str, other: str) -> None:
    here = {path.stem for path in (ROOT / other).rglob("*.py")} - {"__init__", "conftest"}
    here -= {path.stem for path in (ROOT / folder).rglob("*.py")} | {
        path.stem for path in SOURCE.rglob("*.py")
    }
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports(ast.parse(path.read_text("utf-8"))):
            assert name.split(".")[0] != other, f"{path} imports {name}"
            if folder != "tests":  # the tests' folder is on their own path
                assert name.split(".")[0] not in here, f"{path} imports {name}"


def test_the_walk_has_at_most_fifteen_hops_through_files_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    walk = text.split("## A walk from")[1].split("\n## ")[0]
    hops = [line for line in walk.splitlines() if re.match(r"\d+\. ", line)]
    assert 1 <= len(hops) <= 15
    for name in re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py)?)`", walk):
        assert (SOURCE / name).exists(), name

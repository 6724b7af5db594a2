"""Packages import only downwards, in the order of CONTRIBUTING.md; tests and benchmarks stay apart."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "physplan"
TOP = ("__init__", "__main__")  # the package's own door: it may open onto anything
MOVED = {"sandbox", "evaluation", "study", "studio"}  # one sentence each that names the new package
MAY_IMPORT = {
    "physplan": set(),
    "physplan_models": {"physplan"},
    "physplan_sandbox": {"physplan", "physplan_models"},
    "physplan_photo": {"physplan"},
    "physplan_signing": {"physplan"},
    "physplan_studio": {"physplan", "physplan_sandbox", "physplan_photo"},
    "physplan_bench": {
        "physplan",
        "physplan_models",
        "physplan_sandbox",
        "physplan_photo",
        "physplan_studio",
    },
}

# Names that the other packages register, where `physplan` may write them: the default recipe and its parts,
# a wizard's recipes, and words that mean something else there. Nothing else may depend on such a name.
STRINGS = {
    "pipeline/config.py": {"sandbox", "gemini"},  # the default parts; a protocol of model servers
    "pipeline/config_loading.py": {"sandbox"},  # the default preset
    "pipeline/origins.py": {"sandbox"},  # the same, for a video of a preset that is not installed
    "pipeline/pipeline.py": {"sandbox"},  # the same, of `from_preset`
    "cli/recipe.py": {"sandbox"},  # the same, of `--preset`
    "cli/verify.py": {"sandbox"},  # the same
    "cli/generate.py": {"sandbox"},  # the default preset is left out of a folder's name
    "cli/__init__.py": {"photo"},  # a command's example in the overview
    "calls/named.py": {"gemini", "openai", "server"},  # who judges: `--judge gemini:MODEL`
    "machine.py": {"openai", "server", "open", "paper"},  # a distribution, a kind of what is missing, presets
    "presets/__init__.py": {"open", "paper"},  # presets, whose reasoners have their names
    "calls/ledger.py": {"open"},  # a call that is not settled yet
    "graph/vocabulary.py": {"open"},  # what a container may be
    "pipeline/requirements.py": {"server"},  # a kind of what is missing
}
KINDS = (
    *("video_models", "video_families", "editors", "reasoners", "providers", "presets", "sketches"),
    *("segmenters", "depth_estimators", "encoders"),
)


def order() -> list[str]:
    (block,) = re.findall(r"```layers\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
    return block.split()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


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


@pytest.mark.parametrize(("package", "allowed"), MAY_IMPORT.items())
def test_the_packages_depend_in_one_direction(package: str, allowed: set[str]) -> None:
    for path in (ROOT / "src" / package).rglob("*.py"):
        used = {name.split(".")[0] for name in imports(parsed(path))} & MAY_IMPORT.keys()
        assert used <= allowed | {package}, f"{path.relative_to(ROOT)} imports {used - allowed - {package}}"


@pytest.mark.parametrize("name", sorted(MOVED))
def test_an_old_import_path_names_the_new_one(name: str) -> None:
    with pytest.raises(ImportError, match=rf"physplan\.{name} is now physplan_"):
        importlib.import_module(f"physplan.{name}")


def test_a_module_that_moved_is_still_found_under_its_old_name() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    for old, new in points["physplan.moved"].items():
        sys.modules.pop(old, None)
        with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
            assert importlib.import_module(old) is importlib.import_module(new)
        sys.modules.pop(old)


def test_the_list_names_every_package_and_module_once() -> None:
    found = {layer(path) for path in SOURCE.rglob("*.py")} - set(TOP) - MOVED
    assert sorted(order()) == sorted(found)


@pytest.mark.parametrize("package", order())
def test_a_package_imports_only_what_stands_before_it(package: str) -> None:
    allowed = set(order()[: order().index(package) + 1])
    wrong = {
        f"{path.relative_to(ROOT)} imports {', '.join(sorted(above))}"
        for path in SOURCE.rglob("*.py")
        if layer(path) == package and (above := own(imports(parsed(path))) - allowed)
    }
    assert not wrong


def test_physplan_names_nothing_of_the_other_packages_but_what_is_listed() -> None:
    """Strings are read as well as imports: a name of a family, editor or preset is a dependency too."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    names = {name for kind in KINDS for name in points[f"physplan.{kind}"]}
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(parsed(path))
        strings = {node.value for node in nodes if isinstance(node, ast.Constant) and node.value in names}
        if strings:
            found[path.relative_to(SOURCE).as_posix()] = strings
    assert found == STRINGS


@pytest.mark.parametrize(
    ("folder", "other"),
    [
        ("tests", "benchmarks"),
        ("tests", "experiments"),
        ("benchmarks", "experiments"),
        ("benchmarks", "tests"),
        ("experiments", "tests"),
        ("testing", "tests"),
        ("src", "physplan_testing"),
    ],
)
def test_tests_and_benchmarks_stay_apart(folder: str, other: str) -> None:
    here = {path.stem for path in (ROOT / other).rglob("*.py")} - {"__init__", "conftest"}
    here -= {path.stem for path in (ROOT / folder).rglob("*.py")} | {
        path.stem for path in SOURCE.rglob("*.py")
    }
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports(parsed(path)):
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

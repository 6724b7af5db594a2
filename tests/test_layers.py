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

from physplan import presets

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
    "settings.py": {"sandbox"},  # the default preset
    "pipeline/config.py": {"sandbox", "gemini"},  # the default parts; a protocol of model servers
    "cli/__init__.py": {"photo"},  # a command's example in the overview
    "calls/named.py": {"gemini", "openai", "server"},  # who judges: `--judge gemini:MODEL`
    "machine.py": {"openai", "server"},  # a distribution, a kind of what is missing
    "presets/__init__.py": {"open", "paper"},  # presets, whose reasoners have their names
    "calls/ledger.py": {"open"},  # a call that is not settled yet
    "graph/vocabulary.py": {"open"},  # what a container may be
    "pipeline/requirements.py": {"server"},  # a kind of what is missing
}
KINDS = (
    *("video_models", "video_families", "editors", "reasoners", "providers", "presets", "sketches"),
    *("segmenters", "depth_estimators", "encoders"),
)

# Where a name is compared: with what the file itself defines, or a choice of parts that its benchmark needs.
COMPARED = {
    "physplan/calls/named.py": {"server"},  # a word of `--judge`
    "physplan/calls/ledger.py": {"open"},  # a call's state
    "physplan_models/cli/ways.py": {"cloud", "storyboard"},  # of the list above it
    "physplan_bench/sandbox/scenes.py": {"sandbox"},  # the benchmark of the sandbox's own parts
    "physplan_bench/frechet/extractors.py": {"dinov2"},  # a kind of features, chosen below it
    "physplan_bench/accept/library.py": {
        "svd",
        "cogvideox",
        "ltx",
        "cosmos3",
        "framepack",
    },  # how each library pipeline is called
    "physplan_bench/accept/context.py": {"sandbox", "server"},
    "physplan_bench/accept/perception_stage.py": {"sandbox"},  # whose segmenter knows its own world only
    "physplan_bench/accept/videos_stage.py": {"sandbox", "server"},
    "physplan_bench/accept/services_stage.py": {"server"},
}


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
    names = registered_names()
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(parsed(path))
        strings = {node.value for node in nodes if isinstance(node, ast.Constant) and node.value in names}
        if strings:
            found[path.relative_to(SOURCE).as_posix()] = strings
    assert found == STRINGS


def registered_names() -> set[str]:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    return {name for kind in KINDS for name in points[f"physplan.{kind}"]}


def test_no_package_compares_the_name_of_a_family_editor_or_preset_but_where_listed() -> None:
    names, found = registered_names() | set(presets.NAMES), {}
    for path in (ROOT / "src").rglob("*.py"):
        comparisons = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Compare))
        if compared := {text for node in comparisons for text in texts(node)} & names:
            found[path.relative_to(ROOT / "src").as_posix()] = compared
    assert found == COMPARED


def texts(node: ast.Compare) -> Iterator[str]:
    """Strings on either side of a comparison, in a tuple too."""
    for part in (inner for side in (node.left, *node.comparators) for inner in ast.walk(side)):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


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

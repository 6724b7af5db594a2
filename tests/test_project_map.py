"""CONTRIBUTING.md's map of `src/` is what the packages' docstrings say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from physplan_testing.project_map import BLOCK, PACKAGES, PAGE, ROOT, first_line, project_map

CODE = {path.parent for path in (ROOT / "src").rglob("*.py")}
HINT = "write it: python -m physplan_testing.project_map"


def test_the_map_is_made_from_the_docstrings() -> None:
    (written,) = BLOCK.findall(PAGE.read_text("utf-8"))
    assert written == project_map(), HINT


def test_the_map_has_every_folder_of_code_and_every_import_package() -> None:
    assert len(project_map().splitlines()) == len(CODE)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert [f"src/{name}" for name in PACKAGES] == build["targets"]["wheel"]["packages"]


@pytest.mark.parametrize("folder", sorted(CODE), ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_a_package_says_in_one_line_what_it_is(folder: Path) -> None:
    assert (folder / "__init__.py").exists()
    assert 15 <= len(first_line(folder)) <= 110


def test_a_folder_without_a_docstring_shows_as_an_empty_line(tmp_path: Path) -> None:
    for name in (*PACKAGES, "physplan/inner"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("" if name == "physplan_photo" else '"""Some part."""\n')
    lines = project_map(tmp_path).splitlines()
    assert "  inner/           Some part" in lines
    assert "physplan_photo/" in [line.strip() for line in lines]

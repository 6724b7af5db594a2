"""What stands beside the code says what the code says."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_citation_names_the_version_and_licence_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["preferred-citation"]["authors"]


def test_the_changelog_has_the_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert PROJECT["version"] in versions


def test_every_page_the_changelog_links_exists() -> None:
    links = re.findall(r"\]\((docs/[^)#]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_files_for_the_forge_are_yaml(path: Path) -> None:
    assert yaml.safe_load(path.read_text("utf-8"))


def test_the_workflow_runs_the_readmes_test_command_on_every_python_of_the_metadata() -> None:
    job = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]["test"]
    assert any(step.get("run", "").startswith("make test") for step in job["steps"])
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(int(low), int(high))]


def test_what_is_registered_is_what_is_installed() -> None:
    """After a change of the entry points, install again: pip install --no-deps --no-build-isolation -e ."""
    declared = PROJECT["entry-points"]
    wanted = {(group, name, entry) for group, named in declared.items() for name, entry in named.items()}
    points = metadata.distribution("physplan").entry_points
    found = {
        (point.group, point.name, point.value) for point in points if point.group.startswith("physplan.")
    }
    assert found == wanted

"""The site builds without a warning: every page is in it, every link leads somewhere, every name exists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.docs.pages import ROOT

from physplan_models.cli import settings_table

sys.path.insert(0, str(ROOT / "requirements"))
import licences

GENERATED = {"licences.md", "settings.md"}  # `make pages` writes them; git ignores them


def entries(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [one for each in parts for one in entries(each)]  # type: ignore[union-attr]


def test_the_list_of_pages_is_complete() -> None:
    listed = entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    assert sorted(listed) == sorted({path.name for path in (ROOT / "docs").glob("*.md")} | GENERATED)


def test_no_page_links_to_a_generated_one() -> None:
    """A link to it leads nowhere in a fresh clone."""
    written = [path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED]
    for page in (*written, *ROOT.glob("*.md")):
        found = re.findall(r"\]\(([^)#]+\.md)", page.read_text("utf-8"))
        assert not GENERATED & {Path(link).name for link in found}, page.name


@pytest.mark.docs
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "docs/settings.md").write_text(settings_table.table(), encoding="utf-8")
    (tmp_path / "docs/licences.md").write_text(licences.page(), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "WARNING" not in done.stderr
    page = (tmp_path / "site" / "api.html").read_text("utf-8")
    assert "the run can be continued" in page, "of a docstring"

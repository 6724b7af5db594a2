"""The site builds without a warning: every page is in it, every link leads somewhere, every name exists."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.docs.pages import ROOT


def entries(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [one for each in parts for one in entries(each)]  # type: ignore[union-attr]


def test_the_list_of_pages_is_complete() -> None:
    listed = entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.docs
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "WARNING" not in done.stderr
    page = (tmp_path / "site" / "api.html").read_text("utf-8")
    assert "the run can be continued" in page, "of a docstring"

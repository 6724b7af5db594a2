"""docs/extending.md names at most three files and a test for each part, and all of them are there."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

ROWS = [
    line.strip("| ").split(" | ")
    for line in (ROOT / "docs" / "extending.md").read_text("utf-8").splitlines()
    if line.startswith("| a")
]


def test_each_part_has_at_most_three_files_and_a_test_that_exists() -> None:
    assert len(ROWS) >= 8
    for part, files, _, _, tests in ROWS:
        assert len(files.split(", ")) <= 3, part
        paths = re.findall(r"`(tests/[^`]+)`", tests)
        assert paths, part
        assert all((ROOT / path).exists() for path in paths), paths


def test_steps_are_headings_of_their_pages() -> None:
    for part, _, _, steps, _ in ROWS:
        for page, anchor in re.findall(r"\(([a-z]*\.?m?d?)#([a-z-]+)\)", steps):
            headings = re.findall(
                r"^## (.+)$", (ROOT / "docs" / (page or "extending.md")).read_text("utf-8"), re.MULTILINE
            )
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, part

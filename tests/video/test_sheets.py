"""Contact sheets: the frames that matter, in one picture."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

from physplan.errors import PhysPlanError
from physplan.video.sheets import ACCENT, choose, contact_sheet


def test_frames_are_spread_evenly_from_the_first_to_the_last() -> None:
    assert choose(49, 8) == [0, 7, 14, 21, 27, 34, 41, 48]
    assert choose(5, 8) == [0, 1, 2, 3, 4]
    assert choose(1, 8) == [0]


def test_marked_frames_and_both_ends_are_always_shown() -> None:
    assert choose(49, 8, (12, 30, 41)) == [0, 6, 12, 21, 30, 35, 41, 48]
    assert choose(49, 2, (3, 4, 5)) == [0, 3, 4, 5, 48]
    assert choose(9, 4, (99,)) == choose(9, 4)


def test_a_sheet_shows_each_row_in_its_colours(tmp_path: Path) -> None:
    red = torch.tensor([1.0, 0, 0])[:, None, None].expand(9, 3, 20, 30)
    pictures = [None] * 4 + [Image.new("RGB", (30, 20), "blue")] + [None] * 4
    path = tmp_path / "deep" / "sheet.png"
    contact_sheet([("ours", red), ("keyframes", pictures)], path, columns=3, marked=(4,), title="a ball")
    with Image.open(path) as sheet:
        colours = {c for _, c in sheet.getcolors(1 << 20)}  # type: ignore[misc]
        assert {(255, 0, 0), (0, 0, 255), tuple(bytes.fromhex(ACCENT[1:]))} <= colours
        assert sheet.width > 3 * 160
    assert [p.name for p in path.parent.iterdir()] == ["sheet.png"]


def test_a_sheet_without_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="at least one row"):
        contact_sheet([], tmp_path / "s.png")
    with pytest.raises(PhysPlanError, match=r"The row 'empty' .* has no frames"):
        contact_sheet([("empty", torch.zeros(0, 3, 4, 4))], tmp_path / "s.png")

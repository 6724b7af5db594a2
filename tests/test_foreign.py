"""Files and words of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan.foreign import inside, plain, read_file


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[/x] puddle", "[/x] puddle"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("two\nlines\tand\rmore\x07", "two lines and more"),
        ("\x9b2J\udc80 caf\u00e9 \u6c34", "2J caf\u00e9 \u6c34"),
    ],
)
def test_orders_to_the_terminal_are_no_words(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert plain("a\nb", lines=True) == "a\nb"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../a", "a/../../b", "a\\b", "c:/a", "a\0b", ".."])
def test_a_name_leads_nowhere_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(PhysPlanError, match="is not inside"):
        inside(tmp_path, name)
    assert inside(tmp_path, "a/b.png") == tmp_path / "a" / "b.png"


def test_a_file_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 2_000)
    assert len(read_file(tmp_path / "a", limit=2_000)) == 2_000
    with pytest.raises(PhysPlanError, match=r"is larger than 1.9 kB"):
        read_file(tmp_path / "a", limit=1_900)

"""What `physplan accept` measured on real cards: `accepted.json`, an entry per preset and card.

`python -m physplan_bench.accept.figures FILE` adds the figures of an acceptance.json from another machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("accepted.json")


def accepted_figures(preset: str, cards: Sequence[str], file: Path = FILE) -> dict[str, Any] | None:
    """The entry of this preset on one of these cards; None where there is none."""
    entries: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return next((one for one in entries if one["preset"] == preset and one["card"] in cards), None)

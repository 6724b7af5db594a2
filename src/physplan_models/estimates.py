"""Peak memory of the published models, estimated once and kept, because an estimate takes seconds.

`python -m physplan_models.estimates` computes `estimates.json` again; `physplan doctor` prints it. For other
sizes, `physplan generate --dry-run` estimates the run itself.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from physplan.files import write_json

FILE = Path(__file__).with_name("estimates.json")
EVENTS = (1, 3, 7)

#: preset -> gradient mode -> number of events -> GB at the preset's own size.
Estimates = dict[str, dict[str, dict[str, float]]]


@cache
def estimates() -> Estimates:
    found: Estimates = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def compute(name: str) -> dict[str, dict[str, float]]:
    """The row of one preset, from its networks' shapes; each event adds only its evidence."""
    from physplan.video.memory import GB, GradientMode
    from physplan_models.memory import estimate_preset
    from physplan_models.published import PUBLISHED

    modes: tuple[GradientMode, ...] = ("none", "direct", "fused")
    row: dict[str, dict[str, float]] = {}
    for mode in modes:
        one = estimate_preset(PUBLISHED[name], gradient_mode=mode, anchors=1)
        peaks = {str(k): replace(one, evidence=k * one.evidence).peak / GB for k in EVENTS}
        row[mode] = {k: round(peak, 1) for k, peak in peaks.items()}
    return row | {"exact": row["fused"]}  # the same pass, once per term


def main() -> None:
    from physplan_models.published import PUBLISHED

    table = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in sys.argv[1:] or PUBLISHED:
        print(f"estimating {name}", flush=True)
        table[name] = compute(name)
        write_json(FILE, table)


if __name__ == "__main__":
    main()

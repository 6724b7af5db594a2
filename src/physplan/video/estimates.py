"""Peak memory of the published models, estimated once and kept, because an estimate takes seconds.

`python -m physplan.video.estimates` computes `estimates.json` again; `physplan doctor` prints it. For other
sizes, `physplan generate --dry-run` estimates the run itself.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import get_args

from physplan.files import write_json
from physplan.video.presets import VIDEO_PRESETS

FILE = Path(__file__).with_name("estimates.json")
EVENTS = (1, 3, 7)

#: preset -> gradient mode -> number of events -> GB at the preset's own size.
Estimates = dict[str, dict[str, dict[str, float]]]


@cache
def estimates() -> Estimates:
    found: Estimates = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def compute(name: str) -> dict[str, dict[str, float]]:
    """The row of one preset, from its networks' shapes."""
    from physplan.video.memory import GB, GradientMode, estimate_preset

    preset = VIDEO_PRESETS[name]
    return {
        mode: {
            str(k): round(estimate_preset(preset, gradient_mode=mode, anchors=k).peak / GB, 1) for k in EVENTS
        }
        for mode in get_args(GradientMode)
    }


def main() -> None:
    table: Estimates = {}
    for name in VIDEO_PRESETS:
        print(f"estimating {name}", flush=True)
        table[name] = compute(name)
        write_json(FILE, table)


if __name__ == "__main__":
    main()

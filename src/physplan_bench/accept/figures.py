"""`python -m physplan_bench.accept.figures FILE`: an acceptance's figures for `physplan doctor` to print."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.presets.acceptance_figures import FILE
from physplan_bench.accept.compare import findings_of, load_acceptance

FIGURES = {
    "memory_gb": (4, "memory of one repeat, GB"),
    "repeat_seconds": (4, "seconds of one repeat"),
    "base_seconds": (5, "base: seconds"),
}


def add_figures(result: Mapping[str, Any], file: Path = FILE) -> dict[str, Any]:
    """The entry that was added. A file with a failure, of a CPU or of other weights is refused."""
    if result["level"] == "failure" or not result["complete"]:
        raise PhysPlanError("The acceptance has a failure, or stages that were not done: nothing is taken.")
    if result["card"] == "none" or result["settings"]["own weights"]:
        raise PhysPlanError("Figures are those of a card with the published weights: nothing is taken.")
    found = findings_of(result)
    entry: dict[str, Any] = {"preset": result["preset"], "card": result["card"]}
    entry["versions"] = {name: result["versions"].get(name) for name in ("physplan", "torch", "diffusers")}
    entry |= {name: found[key]["value"] for name, key in FIGURES.items() if key in found}
    known = [
        one
        for one in json.loads(file.read_text(encoding="utf-8"))
        if (one["preset"], one["card"]) != (entry["preset"], entry["card"])
    ]
    write_json(file, [*known, entry])
    return entry


if __name__ == "__main__":
    try:
        print(add_figures(load_acceptance(Path(sys.argv[1]))))
    except PhysPlanError as error:
        sys.exit(f"physplan: {error}")

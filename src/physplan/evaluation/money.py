"""One budget for many runs: where their common ledger is, and that every worker sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError

TOTAL = "ledger.jsonl"


def total_settings(folder: Path, budget: float | None) -> dict[str, Any]:
    """The fields of a run's config that make it count in the ledger of this folder."""
    Ledger(budget=budget)  # refuses an amount that is none
    return {"runtime.total_ledger": str((folder / TOTAL).resolve()), "runtime.total_budget": budget}


def open_total(folder: Path) -> Ledger:
    """The ledger of all runs below the folder. The first time, what they have paid before is taken over."""
    path = folder / TOTAL
    paid = [ledger.read_bytes() for ledger in sorted(folder.glob("cases/*/run/calls/ledger.jsonl"))]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:  # another process may be doing the same
            file.write(b"".join(lines if lines.endswith(b"\n") else lines + b"\n" for lines in paid if lines))
    except FileExistsError:
        pass
    return Ledger(path)


def require_total(path: str | None) -> None:
    """In a worker: a ledger of its own would know nothing of the others' calls."""
    if path is not None and not Path(path).is_file():
        raise PhysPlanError(
            f"{path}, the ledger of all runs, is not to be seen from this worker, so no budget could be "
            "kept: give a folder that all machines share."
        )

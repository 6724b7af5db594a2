"""One budget for many runs: where their common ledger is, and that every worker sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from filelock import FileLock

from physplan.calls.ledger import LOCK_TIMEOUT, Ledger
from physplan.errors import PhysPlanError
from physplan.files import write_atomic

TOTAL = "ledger.jsonl"


def total_settings(folder: Path, budget: float | None) -> dict[str, Any]:
    """The fields of a run's config that make it count in the ledger of this folder."""
    Ledger(budget=budget)  # refuses an amount that is none
    return {"runtime.total_ledger": str((folder / TOTAL).resolve()), "runtime.total_budget": budget}


def open_total(folder: Path) -> Ledger:
    """The ledger of all runs below the folder. The first time, what they have paid before is taken over."""
    path = folder / TOTAL
    folder.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # Whole or not at all, and under the ledger's own lock: a part of it would be below the truth.
        with FileLock(folder / f"{TOTAL}.lock", timeout=LOCK_TIMEOUT):
            if not path.exists():
                paid = [one.read_bytes() for one in sorted(folder.glob("cases/*/run/calls/ledger.jsonl"))]
                write_atomic(path, b"".join(_ended(lines) for lines in paid if lines))
    return Ledger(path)


def _ended(lines: bytes) -> bytes:
    return lines if lines.endswith(b"\n") else lines + b"\n"


def require_total(path: str | None) -> None:
    """In a worker: a ledger of its own would know nothing of the others' calls."""
    if path is not None and not Path(path).is_file():
        raise PhysPlanError(
            f"{path}, the ledger of all runs, is not to be seen from this worker, so no budget could be "
            "kept: give a folder that all machines share."
        )

"""Why a run did not end: kept in its folder, shown by its report, deleted when the run is resumed."""

from __future__ import annotations

import errno
from contextlib import suppress

from physplan.calls.protocol import CallFault
from physplan.errors import PhysPlanError
from physplan.files import write_json
from physplan.graph import GraphError
from physplan.runs import RunFolder, layout


def record_failure(folder: RunFolder, error: BaseException) -> None:
    """Write down what went wrong and whether it helps to run it again; a report of what there is."""
    with suppress(OSError, PhysPlanError):  # a full disk must not hide the error that is on its way
        write_json(folder / layout.FAILURE, {"error": explain(error), "same_command": advice(error)})
        from physplan.report import write_report

        write_report(folder)


def explain(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "It was stopped."
    if isinstance(error, PhysPlanError | GraphError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def advice(error: BaseException) -> str:
    causes = _causes(error)
    lost = any(isinstance(one, CallFault) and one.retryable for one in causes)
    if lost or any(isinstance(one, KeyboardInterrupt) for one in causes):
        return "Run it again: it continues where it stopped."
    if any(isinstance(one, OSError) and one.errno in (errno.ENOSPC, errno.EDQUOT) for one in causes):
        return "Run it again once there is room on the disk: it continues where it stopped."
    return "It fails again until that is changed; what is done by then is kept."


def _causes(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_causes(error.__cause__ or error.__context__)]

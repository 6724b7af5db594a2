"""Stage 1: driver, torch, memory, disk, and the weights."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import torch

from physplan import machine
from physplan.errors import PhysPlanError
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import Finding, StageResult
from physplan_bench.accept.weights import look_at_weights

FREE_DISK_GB = 5.0  # GB of disk for runs and pictures


def look(here: Acceptance) -> StageResult:
    findings = [*_machine(here)]
    if here.samples:
        findings += look_at_weights(here)
    else:
        findings.append(Finding(name="weights", level="skipped", meaning="no video model's weights are used"))
    return StageResult(stage=1, findings=findings)


def _machine(here: Acceptance) -> Iterator[Finding]:
    device = here.config.runtime.device
    if device.startswith("cuda"):
        free, total = torch.cuda.mem_get_info(device)
        busy = 1 - free / total
        yield Finding(
            name="card",
            level="warning" if busy > 0.1 else "pass",
            value=torch.cuda.get_device_name(device),
            meaning=f"{busy:.0%} of its memory is taken by others" if busy > 0.1 else "",
        )
        yield Finding(name="card memory, GB", level="pass", value=round(total / 1e9, 1))
    else:
        meaning = "no card is used: figures of time and memory say nothing about one" if here.samples else ""
        yield Finding(name="card", level="warning" if here.samples else "pass", value="none", meaning=meaning)
    try:
        needed = _needed(here)
    except (PhysPlanError, ValueError, RuntimeError, KeyError, TypeError) as error:
        needed, reason = None, str(error).splitlines()[0]  # its networks do not fit together: see below
        yield Finding(name="memory of the largest stage, GB", level="warning", meaning=f"unknown: {reason}")
    there = machine.memory_gb()
    if device.startswith("cuda"):
        there = torch.cuda.get_device_properties(device).total_memory / 1e9
    if needed is not None:
        yield Finding(
            name="memory of the largest stage, GB",
            level="pass" if needed <= there else "failure",
            value=needed,
            meaning="" if needed <= there else f"{there:.1f} GB are here: choose offload or a smaller size",
        )
    disk = shutil.disk_usage(here.folder).free / 1e9
    yield Finding(
        name="free disk, GB",
        level="pass" if disk >= FREE_DISK_GB else "warning",
        value=round(disk, 1),
        meaning="" if disk >= FREE_DISK_GB else "runs may not fit",
    )


def _needed(here: Acceptance) -> float | None:
    """By our estimate, for the settings as they are; None where nothing large is loaded."""
    from physplan.methods import find
    from physplan.pipeline.forecast import memory_request
    from physplan.video.known import video_model

    if not here.samples:
        return None
    config = here.config
    needed = video_model(config.video.model).memory(
        config.video, memory_request(config, find(config.method), events=1)
    )
    return None if needed is None else round(needed.peak / 1e9, 2)

"""Stage 1: driver, torch, memory, disk, and the weights."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence

import torch

from physplan import machine
from physplan.errors import PhysPlanError
from physplan_bench.accept.context import Acceptance
from physplan_bench.accept.findings import Finding, StageResult, checked
from physplan_bench.accept.parts import look_at_parts
from physplan_bench.accept.weights import look_at_weights

FREE_DISK_GB = 5.0  # GB of disk for runs and pictures


def look(here: Acceptance) -> StageResult:
    findings = [*_machine(here), *look_at_parts(here)]
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
        taken, card = f"{busy:.0%} of its memory is taken by others", torch.cuda.get_device_name(device)
        yield checked("card", busy <= 0.1, taken, value=card, level="warning")
        yield Finding(name="card memory, GB", level="pass", value=round(total / 1e9, 1))
        yield driver()
        yield built_for(torch.cuda.get_device_capability(device), torch.cuda.get_arch_list())
        if here.config.video.dtype == "bf16" and not torch.cuda.is_bf16_supported(including_emulation=False):
            meaning = "this card has no bf16: it is emulated and slow, try video.dtype fp16"
            yield Finding(name="precision", level="warning", value="bf16", meaning=meaning)
    else:
        fault = "no card is used: figures of time and memory say nothing about one"
        yield checked("card", not here.samples, fault, value="none", level="warning")
    try:
        needed = _needed(here)
    except (PhysPlanError, ValueError, RuntimeError, KeyError, TypeError) as error:
        needed, reason = None, str(error).splitlines()[0]  # its networks do not fit together: see below
        yield Finding(name="memory of the largest stage, GB", level="warning", meaning=f"unknown: {reason}")
    there = machine.memory_gb()
    if device.startswith("cuda"):
        there = torch.cuda.get_device_properties(device).total_memory / 1e9
    if needed is not None:
        fault = f"{there:.1f} GB are here: choose offload or a smaller size"
        yield checked("memory of the largest stage, GB", needed <= there, fault, value=needed)
    disk = round(shutil.disk_usage(here.folder).free / 1e9, 1)
    yield checked("free disk, GB", disk >= FREE_DISK_GB, "runs may not fit", value=disk, level="warning")


def driver() -> Finding:
    """The driver's version, from its own tool."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return Finding(name="driver", level="warning", meaning="nvidia-smi does not say its version")
    return Finding(name="driver", level="pass", value=done.stdout.split("\n")[0].strip())


def built_for(card: tuple[int, int], known: Sequence[str]) -> Finding:
    """Whether this torch has kernels for the card: `sm` of its major number, or `compute` of one before."""
    numbers = [(kind, *divmod(int(digits), 10)) for kind, digits in map(_parted, known) if digits.isdigit()]
    fits = any(kind == "sm" and major == card[0] and minor <= card[1] for kind, major, minor in numbers)
    fits = fits or any(kind == "compute" and (major, minor) <= card for kind, major, minor in numbers)
    fault = "install a torch whose CUDA version knows this card"
    return checked("torch has kernels for the card", fits, fault, value=f"{card[0]}.{card[1]}")


def _parted(architecture: str) -> tuple[str, str]:
    kind, _, digits = architecture.partition("_")
    return kind, digits.rstrip("af")  # sm_90a: for that one alone, as sm_90 for our question


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

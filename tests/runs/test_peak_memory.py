"""The most memory that a stage held, counted stage by stage."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from physplan.runs import PeakMemory, RunFolder

MB = 10**6


def test_what_was_held_and_let_go_counts() -> None:
    held = PeakMemory("cpu").bytes()
    memory = PeakMemory("cpu")
    np.ones(25 * MB)  # 200 MB of float64, and gone
    assert memory.bytes() - held > 150 * MB


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lowers a process's high-water mark")
def test_a_stage_is_not_charged_for_the_one_before() -> None:
    first = PeakMemory("cpu")
    np.ones(25 * MB)
    most = first.bytes()
    assert most - PeakMemory("cpu").bytes() > 150 * MB


def test_a_gpu_counts_what_was_allocated_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    asked: list[str] = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", asked.append)
    monkeypatch.setattr(
        torch.cuda, "max_memory_allocated", lambda device: 5 * MB if device == "cuda:1" else 0
    )
    assert PeakMemory("cuda:1").bytes() == 5 * MB
    assert asked == ["cuda:1"]


def test_it_is_part_of_the_stages_record(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.finish("plan", "k", [], seconds=1.0, made_from={}, peak_memory_bytes=7)
    folder.finish("video", "k", [], seconds=1.0, made_from={})
    assert [folder.record(stage).peak_memory_bytes for stage in ("plan", "video")] == [7, None]

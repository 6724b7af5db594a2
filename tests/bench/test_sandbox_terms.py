"""Terms at true frames: satisfied there, not before anything has happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan_bench.benchmark import run_benchmark
from physplan_bench.sandbox.terms import TermStudy
from physplan_bench.tables import render


def test_terms_hold_at_true_frames_and_not_at_the_first_and_alignment_helps(tmp_path: Path) -> None:
    study = TermStudy.of_preset(split="validation", first=541, scenes=1, levels=(3,))
    result = run_benchmark(study, tmp_path)
    found = {
        where: tuple(map(sum, zip(*row.values(), strict=True)))
        for where, row in result["unsatisfied"].items()
    }
    true, raw, first = (
        found[f"{frame} frame, level 3, {kind}"]
        for frame, kind in (("true", "aligned"), ("true", "raw"), ("first", "aligned"))
    )
    assert true[0] / true[1] < 0.15
    assert true[0] < raw[0]
    assert first[0] > 2 * true[0]
    assert "true frame, level 3, aligned" in render(study.table(result, ""), "markdown")


def test_the_study_takes_the_settings_of_the_method_that_is_asked_for():
    of = {method: TermStudy.of_preset(method=method).measure for method in ("guided_sketch", "physplan")}
    assert of["guided_sketch"].fill == "log"
    assert of["physplan"].fill == "cells"
    with pytest.raises(PhysPlanError, match="measures no terms"):
        _ = TermStudy.of_preset(method="sketch").measure

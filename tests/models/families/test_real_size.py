"""Full-size networks on this machine: random weights, a small frame."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1800)  # of the wall: a busy machine takes its time
@pytest.mark.parametrize(("name", "least"), [("ltx", 1.9e9), ("cogvideox", 1.6e9)])
def test_a_guided_repeat_and_a_sketch_step_fit_into_20_gb(name: str, least: float, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "physplan_testing.real_size", name, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    print(name, found)
    assert found["weights"] >= least
    assert found["peak_gb"] <= 20

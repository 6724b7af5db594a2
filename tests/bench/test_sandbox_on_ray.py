"""Item by item what the issue asks of scale, with the sandbox's real cases on a real Ray cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import evaluation_faulty_sandbox as faulty
import numpy as np
import pytest

from physplan_bench.engine import run_cases
from physplan_bench.videos import read_video

pytest.importorskip("ray")
pytest.importorskip("cv2")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def figures(results):
    """All that was measured, but for the time it took."""
    times = ("seconds", "cpu_seconds")
    return {name: {k: v for k, v in result.items() if k not in times} for name, result in results.items()}


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serial")
    return folder, figures(run_cases(faulty.CASES, faulty.setup, folder).results)


def stored(folder: Path) -> int:
    return len(list((folder / "cases").glob("*/result.json")))


def test_faults_in_a_tenth_of_the_cases_change_no_number(serial, tmp_path: Path):
    folder, expected = serial
    assert len(faulty.CASES) >= 40
    assert len(faulty.FAULTS) >= 0.1 * len(faulty.CASES)
    setup = partial(faulty.setup, faults=faulty.FAULTS)
    report = run_cases(faulty.CASES, setup, tmp_path, config=faulty.ON_RAY)
    assert report.failures == {}
    assert figures(report.results) == expected
    assert set(faulty.FAULTS) <= {name for name, count in report.attempts.items() if count > 1}
    assert len(list((tmp_path / "cases").glob("*/video.mp4"))) == len(faulty.CASES)
    for case in faulty.CASES[::7]:
        videos = [read_video(at / "cases" / case.stem / "video.mp4") for at in (folder, tmp_path)]
        assert np.array_equal(*videos)


def test_a_driver_killed_half_way_leaves_only_the_rest(serial, tmp_path: Path):
    _, expected = serial
    driver = subprocess.Popen([sys.executable, faulty.__file__, str(tmp_path)])
    deadline = time.monotonic() + 600
    while stored(tmp_path) < 15:
        assert driver.poll() is None, "the driver ended too early to be killed half way"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = stored(tmp_path)
    report = run_cases(faulty.CASES, faulty.setup, tmp_path, config=faulty.ON_RAY)
    assert figures(report.results) == expected
    assert len(report.computed) == len(faulty.CASES) - before > 0

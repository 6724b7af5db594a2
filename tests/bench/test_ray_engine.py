"""The same list of cases on a real Ray cluster: same numbers, every case once, faults and all."""

from __future__ import annotations

import os
import pickle
import signal
from functools import partial
from pathlib import Path

import evaluation_standin as standin
import pytest
from test_case_engine import FAULTS, done, lines, start_driver, values, wait_until_half_way

from physplan.errors import PhysPlanError
from physplan_bench.engine import EngineConfig, run_cases

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    options = {"log_to_driver": False, "logging_level": "ERROR", "object_store_memory": 128 * 2**20}
    for attempt in (1, 2, 3):  # on a busy machine Ray gives up its own start after 30 s
        try:
            ray.init(address="local", num_cpus=2, include_dashboard=False, **options)
            break
        except Exception:
            if attempt == 3:
                raise
            ray.shutdown()
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def serial_values(tmp_path_factory) -> dict[str, float]:
    return values(run_cases(standin.make_cases(40), standin.setup, tmp_path_factory.mktemp("serial")).results)


def test_faults_on_ray_end_with_every_case_once_and_the_serial_numbers(
    cluster, tmp_path: Path, serial_values: dict[str, float]
) -> None:
    log = tmp_path / "log"
    setup = partial(standin.setup, faults=FAULTS, log=log)
    config = EngineConfig(workers=2, ray="", poll_seconds=0.05)
    report = run_cases(standin.make_cases(40), setup, tmp_path / "run", config=config)
    assert report.failures == {}
    assert values(report.results) == serial_values
    assert sorted(lines(log)) == sorted(serial_values)
    assert {name for name, count in report.attempts.items() if count == 2} == set(FAULTS)
    assert len({result["pid"] for result in report.results.values()}) >= 2
    assert {result["loaded"] for result in report.results.values()} == {1}  # each worker stays warm
    assert not list((tmp_path / "run").glob(".shared-*"))


def test_a_worker_that_does_not_see_the_folder_sends_its_files_back(tmp_path: Path) -> None:
    from physplan_bench.cluster import WarmWorker, _store_files

    case = standin.make_cases(1)[0]
    directory = tmp_path / "cases" / case.stem  # no token file here: this 'machine' does not share the folder
    outcome, files = WarmWorker(pickle.dumps(standin.setup), []).run(case, directory, ".shared-token")
    assert not directory.exists()
    stored = _store_files(outcome, files, directory)
    assert stored.error is None
    assert (directory / "walk.txt").read_text() == "scene 000\n"


def test_more_than_the_cluster_has_is_refused_at_once(cluster, tmp_path: Path) -> None:
    config = EngineConfig(workers=1, ray="", gpus_per_worker=1)
    with pytest.raises(PhysPlanError, match="0 GPUs"):
        run_cases(standin.make_cases(2), standin.setup, tmp_path, config=config)


def test_workers_that_cannot_be_set_up_stop_the_run(cluster, tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="no weights"):
        run_cases(standin.make_cases(2), standin.broken_setup, tmp_path, config=EngineConfig(ray=""))


def test_a_ray_driver_killed_half_way_leaves_only_the_rest_to_do(
    tmp_path: Path, serial_values: dict[str, float]
) -> None:
    driver = start_driver(tmp_path, workers=2, ray="local")
    wait_until_half_way(tmp_path, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    stored = done(tmp_path)
    assert stored < 40
    config = EngineConfig(workers=2, ray="local", poll_seconds=0.05)
    report = run_cases(standin.make_cases(40), standin.setup, tmp_path / "run", config=config)
    assert values(report.results) == serial_values
    assert len(report.computed) == 40 - stored

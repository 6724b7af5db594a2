"""The engine does every case exactly once, whichever way it runs and whatever dies on the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import evaluation_standin as standin
import pytest

import physplan_bench.cases as cases_module
from physplan.errors import PhysPlanError
from physplan_bench.cases import Case, CaseStore, shard
from physplan_bench.cluster import check_resources
from physplan_bench.engine import EngineConfig, Progress, run_cases

FAST = EngineConfig(poll_seconds=0.02)
FAULTS = {
    "scene 003": "kill",
    "scene 011": "raise",
    "scene 017": "full disk",
    "scene 029": "kill",
}  # 10 % of 40
SAFE_FAULTS = {name: fault for name, fault in FAULTS.items() if fault != "kill"}


def values(results: dict) -> dict[str, float]:
    return {name: result["value"] for name, result in results.items()}


@pytest.fixture(scope="module")
def serial_values(tmp_path_factory) -> dict[str, float]:
    report = run_cases(standin.make_cases(40), standin.setup, tmp_path_factory.mktemp("serial"), config=FAST)
    assert len(report.results) == 40
    return values(report.results)


def lines(path: Path) -> list[str]:
    return path.read_text().split("\n")[:-1] if path.exists() else []


def test_a_rerun_does_only_what_is_missing(tmp_path: Path) -> None:
    log, cases = tmp_path / "log", standin.make_cases(6)
    setup = partial(standin.setup, log=log)
    first = run_cases(cases[:4], setup, tmp_path / "run", config=FAST)
    second = run_cases(cases, setup, tmp_path / "run", config=FAST)
    assert len(first.computed) == 4
    assert second.computed == ["scene 004", "scene 005"]
    assert len(second.results) == 6
    assert sorted(lines(log)) == sorted(case.name for case in cases)


def test_a_changed_identity_field_never_reuses_a_result(tmp_path: Path) -> None:
    short = run_cases(standin.make_cases(3, steps=10), standin.setup, tmp_path, config=FAST)
    long = run_cases(standin.make_cases(3, steps=20), standin.setup, tmp_path, config=FAST)
    assert len(long.computed) == 3
    assert values(short.results) != values(long.results)
    again = run_cases(standin.make_cases(3, steps=10), standin.setup, tmp_path, config=FAST)
    assert again.computed == []
    assert values(again.results) == values(short.results)


def test_the_key_depends_on_name_and_every_identity_field_but_not_on_their_order() -> None:
    case = Case(name="a", identity={"seed": 1, "method": "base"})
    assert case.key == Case(name="a", identity={"method": "base", "seed": 1}).key
    assert (
        len({case.key, Case(name="b", identity=case.identity).key, Case(name="a", identity={"seed": 1}).key})
        == 3
    )


def test_a_result_file_of_another_case_is_named_and_never_used(tmp_path: Path, caplog) -> None:
    one, two = standin.make_cases(2)
    store = CaseStore(tmp_path)
    run_cases([one], standin.setup, tmp_path, config=FAST)
    store.directory(two).mkdir(parents=True)
    (store.directory(one) / "result.json").rename(store.directory(two) / "result.json")
    assert CaseStore(tmp_path).result(two) is None
    assert "belongs to another case" in caplog.text


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip_a_digit(path: Path) -> None:
    text = path.read_text()
    path.write_text(text.replace('"attempts": 1', '"attempts": 2'))


def change_a_file(path: Path) -> None:
    path.with_name("walk.txt").write_text("other")


def lose_a_file(path: Path) -> None:
    path.with_name("walk.txt").unlink()


def put_a_list(path: Path) -> None:
    path.write_text("[]")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (cut, "it is no JSON"),
        (flip_a_digit, "its checksum does not fit"),
        (change_a_file, "walk.txt beside it has changed"),
        (lose_a_file, "walk.txt is not beside it"),
        (put_a_list, "it holds no result"),
    ],
)
def test_a_damaged_result_is_named_and_made_again(tmp_path: Path, caplog, damage, named: str) -> None:
    cases = standin.make_cases(3)
    before = run_cases(cases, standin.setup, tmp_path, config=FAST).results
    path = CaseStore(tmp_path).directory(cases[1]) / "result.json"
    damage(path)
    assert CaseStore(tmp_path).state(cases[1]) == "missing"
    caplog.clear()
    report = run_cases(cases, standin.setup, tmp_path, config=FAST)
    assert report.computed == ["scene 001"]
    assert {name: result["value"] for name, result in report.results.items()} == {
        name: result["value"] for name, result in before.items()
    }
    assert caplog.text.count(f"{path} is damaged ({named}") == 1
    caplog.clear()
    assert run_cases(cases, standin.setup, tmp_path, config=FAST).computed == []
    assert caplog.text == ""


def test_a_result_of_before_there_were_checksums_is_used(tmp_path: Path) -> None:
    cases = standin.make_cases(1)
    run_cases(cases, standin.setup, tmp_path, config=FAST)
    path = CaseStore(tmp_path).directory(cases[0]) / "result.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in record.items() if k not in ("checksum", "files")}))
    assert run_cases(cases, standin.setup, tmp_path, config=FAST).computed == []


def test_faults_are_retried_and_the_numbers_stay(tmp_path: Path, serial_values: dict[str, float]) -> None:
    log = tmp_path / "log"
    setup = partial(standin.setup, faults=FAULTS, log=log)
    config = EngineConfig(workers=2, poll_seconds=0.02)
    report = run_cases(standin.make_cases(40), setup, tmp_path / "run", config=config)
    assert report.failures == {}
    assert values(report.results) == serial_values
    assert sorted(lines(log)) == sorted(serial_values)  # every case ran to its end exactly once
    assert {name for name, count in report.attempts.items() if count == 2} == set(FAULTS)


def test_each_worker_sets_up_once_and_stays_warm(tmp_path: Path) -> None:
    report = run_cases(
        standin.make_cases(12), partial(standin.setup, seconds=0.02), tmp_path, config=EngineConfig(workers=2)
    )
    assert {result["loaded"] for result in report.results.values()} == {1}
    assert len({result["pid"] for result in report.results.values()}) == 2
    assert os.getpid() not in {result["pid"] for result in report.results.values()}


def test_a_case_that_keeps_failing_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    def setup():
        def function(case, directory):
            if case.name == "scene 001":
                raise RuntimeError("too dark")
            return {"value": 1.0}

        return function

    report = run_cases(standin.make_cases(3), setup, tmp_path, config=FAST)
    assert report.failures == {"scene 001": "RuntimeError: too dark"}
    assert report.attempts["scene 001"] == 3
    assert set(report.results) == {"scene 000", "scene 002"}
    with pytest.raises(
        PhysPlanError, match=r"1 of 3 cases failed.*scene 001.*too dark.*run the same command again"
    ):
        report.require_complete()


def test_a_refusal_is_not_retried(tmp_path: Path) -> None:
    def setup():
        def function(case, directory):
            raise PhysPlanError("The picture is empty.")

        return function

    report = run_cases(standin.make_cases(1), setup, tmp_path, config=FAST)
    assert report.attempts["scene 000"] == 1
    assert report.failures["scene 000"] == "The picture is empty."


@pytest.mark.parametrize("result", [{"x": float("nan")}, {"x": object()}])
def test_a_result_that_is_not_json_fails_its_case_without_a_retry(tmp_path: Path, result: dict) -> None:
    report = run_cases(standin.make_cases(1), lambda: lambda case, directory: result, tmp_path, config=FAST)
    assert "not plain JSON" in report.failures["scene 000"]
    assert report.attempts["scene 000"] == 1


def test_workers_that_cannot_be_set_up_stop_the_run_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="No worker could be set up: RuntimeError: no weights"):
        run_cases(standin.make_cases(4), standin.broken_setup, tmp_path, config=EngineConfig(workers=2))


def test_a_full_disk_while_storing_is_waited_for_without_computing_again(tmp_path: Path, monkeypatch) -> None:
    real, failed = cases_module.write_json, []

    def write(path, value):
        if "scene-001" in str(path) and not failed:
            failed.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, value)

    monkeypatch.setattr(cases_module, "write_json", write)
    log = tmp_path / "log"
    report = run_cases(standin.make_cases(3), partial(standin.setup, log=log), tmp_path / "run", config=FAST)
    assert failed
    assert len(report.results) == 3
    assert lines(log).count("scene 001") == 1


def test_a_claim_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    store, (case,) = CaseStore(tmp_path), standin.make_cases(1)
    claim = store.claim(case)
    assert claim is not None
    assert store.claim(case) is None
    assert store.state(case) == "running"
    claim.release()
    assert store.state(case) == "missing"
    assert store.claim(case) is not None


def test_a_full_disk_while_claiming_is_waited_for(tmp_path: Path, monkeypatch) -> None:
    real, failed = CaseStore.claim, []

    def claim(self, case):
        if case.name == "scene 001" and len(failed) < 2:
            failed.append(case)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, case)

    monkeypatch.setattr(CaseStore, "claim", claim)
    assert len(run_cases(standin.make_cases(3), standin.setup, tmp_path, config=FAST).results) == 3
    monkeypatch.setattr(CaseStore, "claim", lambda self, case: claim(self, failed.clear() or case))
    report = run_cases(standin.make_cases(3, steps=5), standin.setup, tmp_path, config=FAST)
    assert "could not be claimed" in report.failures["scene 001"]
    assert len(report.results) == 2


def test_two_processes_on_one_folder_never_do_a_case_twice(tmp_path: Path, serial_values) -> None:
    drivers = [start_driver(tmp_path, workers) for workers in (1, 2)]
    assert [driver.wait(timeout=120) for driver in drivers] == [0, 0]
    assert sorted(lines(tmp_path / "log")) == sorted(serial_values)
    assert done(tmp_path) == 40


def test_two_drivers_on_one_folder_share_the_work(tmp_path: Path, serial_values: dict[str, float]) -> None:
    log, reports = tmp_path / "log", []
    setup = partial(standin.setup, log=log, seconds=0.005)

    def drive() -> None:
        reports.append(run_cases(standin.make_cases(40), setup, tmp_path / "run", config=FAST))

    threads = [threading.Thread(target=drive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lines(log)) == sorted(serial_values)
    assert [values(report.results) for report in reports] == [serial_values] * 2  # each waited for the other
    assert all(report.computed for report in reports)
    assert sum(len(report.computed) for report in reports) == 40


DRIVER = """
import sys
from functools import partial
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import evaluation_standin as standin
from physplan_bench.engine import EngineConfig, run_cases
if __name__ == "__main__":
    folder = Path(sys.argv[2])
    run_cases(
        standin.make_cases(40),
        partial(standin.setup, log=folder / "log", seconds=0.03),
        folder / "run",
        config=EngineConfig(workers=int(sys.argv[3]), ray=sys.argv[4] or None, poll_seconds=0.02),
    )
"""


def start_driver(tmp_path: Path, workers: int, ray: str = "") -> subprocess.Popen:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), str(Path(__file__).parent), str(tmp_path), str(workers), ray]
    return subprocess.Popen(command)


def done(tmp_path: Path) -> int:
    return len(list((tmp_path / "run" / "cases").glob("*/result.json")))


def wait_until_half_way(tmp_path: Path, driver: subprocess.Popen) -> None:
    deadline = time.monotonic() + 240
    while done(tmp_path) < 15:
        assert driver.poll() is None, "the driver ended too early to be killed half way"
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_driver_killed_half_way_leaves_only_the_rest_to_do(
    tmp_path: Path, serial_values: dict[str, float], workers: int
) -> None:
    driver = start_driver(tmp_path, workers)
    wait_until_half_way(tmp_path, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    stored = done(tmp_path)
    assert stored < 40
    report = run_cases(standin.make_cases(40), standin.setup, tmp_path / "run", config=FAST)
    assert values(report.results) == serial_values
    assert len(report.computed) == 40 - stored  # no stale claim, nothing repeated that was stored


def test_a_claim_is_free_again_when_its_process_was_killed(tmp_path: Path) -> None:
    case = standin.make_cases(1)[0]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path), case.name, json.dumps(case.identity)],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"claimed\n"
    store = CaseStore(tmp_path)
    assert store.state(case) == "running"
    assert store.claim(case) is None
    holder.kill()
    holder.wait()
    assert store.state(case) == "missing"
    assert store.claim(case) is not None


HOLDER = """
import json, sys, time
from pathlib import Path
from physplan_bench.cases import Case, CaseStore
claim = CaseStore(Path(sys.argv[1])).claim(Case(name=sys.argv[2], identity=json.loads(sys.argv[3])))
print("claimed", flush=True)
time.sleep(600)
"""


def test_shards_cover_every_case_once_and_add_up_to_the_whole(tmp_path: Path, serial_values) -> None:
    cases = standin.make_cases(40)
    parts = [shard(cases, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(case.name for part in parts for case in part) == [case.name for case in cases]
    computed = []
    for i in (1, 2, 3):
        config = EngineConfig(shard=f"{i}/3", poll_seconds=0.02)
        computed += run_cases(cases, standin.setup, tmp_path, config=config).computed
    assert sorted(computed) == [case.name for case in cases]
    assert values(run_cases(cases, standin.setup, tmp_path, config=FAST).results) == serial_values


@pytest.mark.parametrize("spec", ["0/3", "4/3", "a/b", "1", "-1/2"])
def test_a_wrong_shard_is_refused(spec: str) -> None:
    with pytest.raises(PhysPlanError, match="--shard"):
        shard(standin.make_cases(3), spec)


def test_duplicate_cases_are_refused(tmp_path: Path) -> None:
    case = standin.make_cases(1)[0]
    with pytest.raises(PhysPlanError, match="occurs twice"):
        run_cases([case, case], standin.setup, tmp_path)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PhysPlanError, match="is a file"):
        run_cases(standin.make_cases(1), standin.setup, tmp_path / "file")


def test_progress_counts_up_to_all_cases(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run_cases(standin.make_cases(5), standin.setup, tmp_path, config=FAST, progress=seen.append)
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert (seen[-1].done, seen[-1].total) == (5, 5)
    assert "5/5 cases" in str(seen[-1])


def test_the_manifest_lists_the_cases_of_the_run(tmp_path: Path) -> None:
    cases = standin.make_cases(3)
    run_cases(cases, standin.setup, tmp_path, config=FAST)
    assert [case.key for case in CaseStore(tmp_path).manifest()] == [case.key for case in cases]


def test_resources_are_checked_before_anything_waits_for_them() -> None:
    check_resources([{"CPU": 8, "GPU": 2}, {"CPU": 8, "GPU": 2}], workers=4, cpus=1, gpus=1)
    with pytest.raises(PhysPlanError, match=r"0 GPUs.*room for 0 worker"):
        check_resources([{"CPU": 2}], workers=1, cpus=1, gpus=1)
    with pytest.raises(
        PhysPlanError, match="room for 2 worker"
    ):  # 3 GPUs in all, but no node has room for a second
        check_resources([{"CPU": 8, "GPU": 2}, {"CPU": 8, "GPU": 2}], workers=3, cpus=1, gpus=2)


@pytest.mark.parametrize("name", ["claim", "result.json"])
def test_a_folder_from_somebody_else_leads_nowhere(tmp_path: Path, name: str) -> None:
    case, victim = standin.make_cases(1)[0], tmp_path / "victim"
    victim.write_text("mine")
    store = CaseStore(tmp_path / "run")
    store.directory(case).mkdir(parents=True)
    (store.directory(case) / name).symlink_to(victim)
    with pytest.raises(PhysPlanError, match="is a symbolic link"):
        run_cases([case], standin.setup, tmp_path / "run", config=FAST)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"key": 1}', '{"a": 1, "a": 2}', "[" * 5000, "NaN"])
def test_a_result_of_another_kind_is_no_result(tmp_path: Path, content: str) -> None:
    case, store = standin.make_cases(1)[0], CaseStore(tmp_path)
    store.directory(case).mkdir(parents=True)
    (store.directory(case) / "result.json").write_text(content)
    assert store.result(case) is None
    (tmp_path / "manifest.json").write_text(content if content != "[]" else "[1]")
    with pytest.raises(PhysPlanError, match=r"manifest.json is not the list of cases"):
        store.manifest()


@pytest.mark.parametrize(
    ("fault", "limits"),
    [
        ("stop", {"silent_seconds": 3.0}),
        ("stop in its answer", {"silent_seconds": 3.0}),
        ("hang", {"case_seconds": 3.0}),
    ],
)
def test_a_stopped_or_hung_worker_is_replaced_and_its_case_done(
    tmp_path: Path, fault: str, limits: dict[str, float]
) -> None:
    config = EngineConfig(workers=2, poll_seconds=0.05, retries=10, **limits)  # a busy machine is slow too
    setup = partial(standin.setup, faults={"scene 001": fault})
    report = run_cases(standin.make_cases(4), setup, tmp_path, config=config)
    assert report.failures == {}
    assert len(report.results) == 4
    assert report.attempts["scene 001"] >= 2

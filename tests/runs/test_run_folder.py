"""The folder of a run: what counts as done, who may work in it, and what a kill leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan.files import TEMPORARY
from physplan.runs import RunFolder, StageRecord
from physplan.runs.records import notes_of


def finish(folder: RunFolder, stage: str = "plan", key: str = "k") -> Path:
    path = folder / f"{stage}.txt"
    path.write_text(stage)
    folder.finish(stage, key, [path], seconds=1.0, made_from={})
    return path


def test_a_stage_is_done_for_its_key_and_while_its_files_are_as_they_were(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    path = finish(folder)
    assert folder.is_done("plan", "k")
    assert not folder.is_done("plan", "another key")
    path.write_text("edited")
    assert not folder.is_done("plan", "k")
    path.unlink()
    assert not folder.is_done("plan", "k")


def test_files_without_a_record_are_not_trusted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    finish(folder)
    (tmp_path / "stages" / "plan.json").write_text('{"stage": "plan"')
    assert folder.record("plan") is None
    assert not folder.is_done("plan", "k")


def test_forgetting_removes_files_and_records_of_those_stages_only(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    kept, gone = finish(folder, "plan"), finish(folder, "video")
    folder.invalidate(["video"])
    assert kept.exists()
    assert not gone.exists()
    assert folder.record("video") is None
    assert isinstance(folder.record("plan"), StageRecord)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    code = (
        "import sys; from physplan.runs import RunFolder\n"
        "with RunFolder(sys.argv[1]).locked(): print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "in\n"
        with pytest.raises(PhysPlanError, match="Another process is at work"), RunFolder(tmp_path).locked():
            pass
        other.kill()
    with RunFolder(tmp_path).locked():  # a killed process leaves no lock
        pass


def make_a_run(path: Path) -> None:
    inputs = '{"prompt": "it melts", "method": "base", "seed": 0}'
    (path / "run.json").write_text(
        f'{{"inputs": {inputs}, "identity": {{}}, "versions": {{"physplan": "0"}}}}'
    )


def test_what_a_kill_left_half_written_is_swept_up_in_our_own_folders(tmp_path: Path) -> None:
    run = tmp_path / "run"
    mine = [run / ".pre-commit-config.yaml", run / ".vscode-server" / "a-b", run / "notes" / f"{TEMPORARY}x"]
    for path in (run / f"{TEMPORARY}1.mp4", run / "calls" / "answers" / f"{TEMPORARY}1.json", *mine):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    make_a_run(run)
    with RunFolder(run).locked():
        found = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {run / "run.json", run / ".lock", *mine}


@pytest.mark.parametrize("name", ["evidence", "calls/answers", "calls/ledger.jsonl", "log.txt", ".lock"])
def test_a_run_with_a_link_in_place_of_its_own_files_is_refused(tmp_path: Path, name: str) -> None:
    victim, run = tmp_path / "victim", tmp_path / "run"
    victim.write_text("mine")
    (run / name).parent.mkdir(parents=True)
    (run / name).symlink_to(victim)
    for _ in range(2):  # before and after run.json says that it is a run
        with pytest.raises(PhysPlanError, match="is a symbolic link"), RunFolder(run).locked():
            pass
        make_a_run(run)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".ssh-keys", "plan.json", "holiday.jpg"])
def test_a_folder_with_files_of_somebody_else_is_refused_and_not_touched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(PhysPlanError, match="not of a PhysPlan run"), RunFolder(tmp_path).locked():
        pass
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"identity": {}, "versions": {"npm": "1"}}', "\0"])
def test_a_run_json_of_another_program_is_not_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    (tmp_path / f"{TEMPORARY}1").write_text("")
    with pytest.raises(PhysPlanError, match="is not of a PhysPlan run"), RunFolder(tmp_path).locked():
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", f"{TEMPORARY}1"}


def test_a_run_that_was_killed_before_it_said_what_it_is_goes_on(tmp_path: Path) -> None:
    for name in (".lock", f"{TEMPORARY}1.json", ".DS_Store"):
        (tmp_path / name).write_text("")
    with RunFolder(tmp_path).locked():
        make_a_run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", ".DS_Store", "run.json"}


def test_a_folder_that_is_a_file_or_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PhysPlanError, match="is a file"), RunFolder(tmp_path / "file").locked():
        pass
    with pytest.raises(PhysPlanError, match="cannot be written"), RunFolder(tmp_path / "file" / "x").locked():
        pass


def test_the_log_is_one_line_per_message(tmp_path: Path) -> None:
    RunFolder(tmp_path).log("one\ntwo")
    assert (tmp_path / "log.txt").read_text().endswith(" one two\n")


def test_a_full_disk_does_not_end_a_run_for_a_line_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "log.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        (tmp_path / "log.txt").write_text("started")
    RunFolder(tmp_path).log("started")


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "log.txt").mkdir()
    with pytest.raises(IsADirectoryError):
        RunFolder(tmp_path).log("started")


def test_an_object_that_a_keyframe_does_not_show_is_named_once_over_all_stages(tmp_path: Path) -> None:
    folder, told = RunFolder(tmp_path), {
        "keyframes": ["Keyframe 1 (1 drawing): the puddle (puddle#7) was not found."],
        "evidence": ["puddle#7 was not found in keyframe 1", "puddle#7 was not found in keyframe 2"],
        "sketch": ["puddle#7 is not seen in keyframe 1: it stays as it was", "no gravity", "no gravity"],
    }  # fmt: skip
    for stage, notes in told.items():
        folder.finish(stage, "k", [], seconds=1.0, made_from={}, notes=notes)
    records = [record for stage in told if (record := folder.record(stage))]
    assert notes_of(records) == (told["keyframes"][0], told["evidence"][1], "no gravity")

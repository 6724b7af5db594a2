"""The folder of a run: what counts as done, who may work in it, and what a kill leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from physplan.errors import PhysPlanError
from physplan.runs import RunFolder, StageRecord


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
    folder.forget(["video"])
    assert kept.exists()
    assert not gone.exists()
    assert folder.record("video") is None
    assert isinstance(folder.record("plan"), StageRecord)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    code = (
        "import sys; from physplan.runs import RunFolder\n"
        "with RunFolder(sys.argv[1]).opened(): print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "in\n"
        with pytest.raises(PhysPlanError, match="Another process is at work"), RunFolder(tmp_path).opened():
            pass
        other.kill()
    with RunFolder(tmp_path).opened():  # a killed process leaves no lock
        pass


def test_what_a_kill_left_half_written_is_swept_up(tmp_path: Path) -> None:
    (tmp_path / ".video-x1.mp4").write_text("half")
    (tmp_path / "calls" / "answers").mkdir(parents=True)
    (tmp_path / "calls" / "answers" / ".1-x1.json").write_text("half")
    with RunFolder(tmp_path).opened():
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".lock"]


def test_a_folder_that_is_a_file_or_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PhysPlanError, match="is a file"), RunFolder(tmp_path / "file").opened():
        pass
    with pytest.raises(PhysPlanError, match="cannot be written"), RunFolder(tmp_path / "file" / "x").opened():
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

"""Files are whole, on disk, and the same bytes for the same content."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from physplan import files
from physplan.files import write_atomic
from physplan.tensors import save_tensors
from physplan.video.files import write_video


@contextmanager
def small_files() -> Iterator[None]:
    """The system refuses to write more than 1 kB into a file, as a full disk would.

    Not a fixture: pytest writes its own output, which may go to a file, before a fixture is taken down.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_tensors_are_the_same_bytes_each_time_and_read_back(tmp_path: Path) -> None:
    tensors = {name: torch.randn(3, n + 1) for n, name in enumerate("zyxab")} | {"mask": torch.ones(3) > 0}
    about = {name: name * 3 for name in "hgfedcba"}
    written = set()
    for number in range(5):
        save_tensors(tmp_path / f"{number}", tensors, about)
        written.add((tmp_path / f"{number}").read_bytes())
    assert len(written) == 1
    with safe_open(tmp_path / "0", "pt") as file:
        assert file.metadata() == about
        assert all(torch.equal(file.get_tensor(name), tensor) for name, tensor in tensors.items())


def test_tensors_on_a_full_disk_are_an_error_of_the_system_that_names_the_file(tmp_path: Path) -> None:
    with small_files(), pytest.raises(OSError, match=r"a\.safetensors"):
        save_tensors(tmp_path / "a.safetensors", {"a": torch.zeros(10_000)})
    assert list(tmp_path.iterdir()) == []


def test_a_lossless_video_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    video = torch.rand(5, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    for name in ("a.mkv", "b.mkv"):
        write_video(tmp_path / name, video, fps=8, metadata={"seed": 0})
    assert (tmp_path / "a.mkv").read_bytes() == (tmp_path / "b.mkv").read_bytes()


def test_a_video_for_everyone_is_the_same_bytes_whatever_memory_held_before(tmp_path: Path) -> None:
    """x264's mbtree reads memory that was never written. x264 writes its settings into the file."""
    video = torch.rand(5, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    for name in ("a.mp4", "b.mp4"):
        write_video(tmp_path / name, video, fps=8, metadata={"seed": 0})
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert b"mbtree=0" in (tmp_path / "a.mp4").read_bytes()


def test_a_new_name_and_a_new_folder_are_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def sync(descriptor: int) -> None:
        about = os.fstat(descriptor)
        if stat.S_ISDIR(about.st_mode):
            synced.append(about.st_ino)

    monkeypatch.setattr(files.os, "fsync", sync)
    write_atomic(tmp_path / "a" / "b" / "c.txt", "hello")
    folders = (tmp_path, tmp_path / "a", tmp_path / "a" / "b")
    assert {folder.stat().st_ino for folder in folders} == set(synced)
    assert synced[-1] == (tmp_path / "a" / "b").stat().st_ino, "after the file has its name"


def test_what_a_killed_process_left_of_a_file_is_removed_when_the_file_is_written_again(
    tmp_path: Path,
) -> None:
    code = (
        "import os, signal, sys\nfrom physplan.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path:\n"
        "    path.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    for name in ("plan.json", "other.json"):
        done = subprocess.run([sys.executable, "-c", code, tmp_path / name], check=False)
        assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(f"{files.TEMPORARY}*"))) == 2
    mine = tmp_path / f"{files.TEMPORARY}notes.json"
    mine.write_text("mine")
    with write_and_hold(tmp_path / "plan.json") as held:
        write_atomic(tmp_path / "plan.json", "whole")
        assert held.exists(), "of a process that is still at work"
    left = {path.name for path in tmp_path.iterdir()}
    assert len(left) == 3, "the plan, the notes, and what is left of another file"
    assert {"plan.json", mine.name} < left


@contextmanager
def write_and_hold(target: Path) -> Iterator[Path]:
    with suppress(ZeroDivisionError), files.atomic_path(target) as path:
        yield path
        raise ZeroDivisionError

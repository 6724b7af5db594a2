"""A studio with runs of the command line in its folder, and a secret beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from studio_double import Client, serving, write_run

from physplan_studio.server import Studio


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "secret.png").write_bytes(b"SECRET")
    folder = tmp_path / "runs"
    write_run(folder / "old one")
    write_run(folder / "batch" / "seed0", seed=0)
    write_run(folder / "half", video=False)
    return folder


@pytest.fixture
def studio(runs: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Studio]:
    with serving(runs) as found:
        yield found
    assert capfd.readouterr().err == ""  # no traceback, whatever was asked


@pytest.fixture
def client(studio: Studio) -> Client:
    return Client(studio.server.port)

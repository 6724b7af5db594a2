"""`make demo` as the README has it, with the environment that is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.timeout(1200)  # a minute of a free machine
def test_make_demo_works_as_the_readme_says() -> None:
    # --old-file: the environment is there, this test runs in it; nothing is to be installed.
    command = ["make", "--old-file=.venv/.base", "demo", "DEMO=--quick", f"BIN={ROOT / '.venv' / 'bin'}"]
    if not (ROOT / ".venv" / "bin" / "physplan").exists():
        pytest.skip("PhysPlan is installed elsewhere")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (ROOT / "out" / "demo" / "demo.png").stat().st_size > 10_000
    assert (ROOT / "out" / "demo" / "demo.mp4").stat().st_size > 10_000

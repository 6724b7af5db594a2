"""README and docs, page by page: what stands there is run in order from a base install, and is true.

`make test-docs` runs this. What a block needs that is not here is in the comment before it: see `pages.py`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tests.docs.base_install import link_base_install
from tests.docs.pages import ROOT, Block, arguments, blocks, pages

MAKES = ("-o", "--output", "--plot", "--sketch", "--into", "--page")  # options that name what will be there
SECRET = ("KEY", "TOKEN", "SECRET")


def is_run(block: Block) -> bool:
    return not {"tested by", "run"} & block.marks.keys() and (
        "needs" not in block.marks or block.marks["needs"].startswith("extra") or "file" in block.marks
    )


RUN = [page for page in pages() if any(is_run(b) and "file" not in b.marks for b in blocks(page))]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_base_install(tmp_path_factory.mktemp("base") / ".venv")


def environment(commands: Path) -> dict[str, str]:
    known = {name: v for name, v in os.environ.items() if not any(word in name.upper() for word in SECRET)}
    path = os.pathsep.join([str(commands), known["PATH"]])
    return {
        **known,
        "PATH": path,
        "EDITOR": "true",
        "PYTHONPATH": str(ROOT / "src"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }


def follow(block: Block, folder: Path, commands: Path) -> str:
    """Run a block as a reader would; what it prints."""
    if block.language == "python":
        return run([str(commands / "python"), "-c", block.text], str(block), folder, commands)
    told = ""
    for command in block.commands:
        if command.startswith(("make ", "pip ", ".venv/bin/pip ", ".venv/bin/pre-commit ")):
            continue  # looked at by the fast tests; `make demo` and `make test` have their own
        given = arguments(command) or []
        judges = given[:1] == ["verify"]  # 1 is a verdict on the video, not a fault of the command
        # .venv/bin is first in PATH: the base install's, or the one with all extras
        words = ["bash", "-ec", command.removeprefix(".venv/bin/")]
        told += run(words, command, folder, commands, fine=(0, 1) if judges else (0,))
        for option, value in pairwise(given):
            if option in MAKES and "--check" not in given:
                assert (folder / value).exists(), f"{command} made no {value}"
    return told


def run(words: list[str], what: str, folder: Path, commands: Path, fine: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        words, cwd=folder, env=environment(commands), capture_output=True, text=True, check=False
    )
    assert done.returncode in fine, f"{what}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr
    assert "it/s]" not in done.stderr, f"{what}: a library's own progress bar"
    return done.stdout + done.stderr


@pytest.mark.docs
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", RUN)
def test_the_page_does_what_it_says(page: str, base: Path, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(base.parent)
    (tmp_path / "constraints.txt").write_bytes((ROOT / "constraints.txt").read_bytes())
    everything = Path(sys.executable).parent
    python = ""
    for block in blocks(page):
        if not is_run(block):
            continue
        if name := block.marks.get("file"):
            (tmp_path / name).write_text(block.text, encoding="utf-8")
            continue
        if block.language == "python":  # a page's pieces of Python follow one another
            python += block.text
            block = Block(page, block.line, "python", python, block.marks)
        told = follow(block, tmp_path, everything if "needs" in block.marks else base)
        for words in filter(None, block.marks.get("says", "").split(" | ")):
            assert words in told, f"{block} does not say {words!r}: {told[-1500:]}"
        for name in shlex.split(block.marks.get("makes", "")):
            assert (tmp_path / name).exists(), f"{block} made no {name}"


def test_a_base_install_has_none_of_the_extras(base: Path) -> None:
    asked = "import importlib.util as u; print([n for n in ('cv2', 'ray', 'pytest') if u.find_spec(n)])"
    found = subprocess.run([str(base / "python"), "-c", asked], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

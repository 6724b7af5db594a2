"""Every command of README and docs is a command, and every piece of Python imports what there is."""

from __future__ import annotations

import ast
import importlib.util
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from PIL import Image
from tests.docs.pages import ROOT, Block, arguments, blocks, pages

from physplan.cli import build_parser, main
from physplan_bench.cli.evaluate import sandbox

EVERY = [block for page in pages() for block in blocks(page)]
PARSER = build_parser()
SHELL = [block for block in EVERY if block.language == "sh"]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
KNOWN_NEEDS = ("a key", "a GPU", "a server", "extra", "data", "hours", "a person", "weights", "a wheel")


def test_there_is_something_to_look_at() -> None:
    assert len(SHELL) >= 20
    assert {block.page for block in EVERY} >= {"README.md", "docs/quickstart.md", "docs/batch.md"}


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_command_is_one(block: Block) -> None:
    for command in block.commands:
        given = arguments(command)
        if given is not None:
            assert callable(PARSER.parse_args(given).run), command
        elif command.startswith("make "):
            target = command.split()[1]
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), command
        elif found := re.match(r"python -m (physplan\w*[.\w]*)", command):
            assert importlib.util.find_spec(found[1]), command
        elif found := re.match(r"python -m ((?:benchmarks|experiments)\.\w+)", command):
            assert (ROOT / f"{found[1].replace('.', '/')}.py").exists(), command
        elif "pip install" in command:
            assert set(re.findall(r"\w+", (re.search(r"\[(.*)\]", command) or ["", ""])[1])) <= EXTRAS.keys()
        else:
            assert command.split()[0] in (
                "$EDITOR",
                ".",
                ".venv/bin/pre-commit",
                ".venv/bin/python",
                "export",
                "vllm",
                "ray",
                "hf",
                "ln",
                "cp",
                "COMFYUI=/path/to/ComfyUI",
            ), command


@pytest.mark.parametrize("block", [b for b in EVERY if b.language == "python"], ids=str)
def test_every_piece_of_python_imports_what_there_is(block: Block) -> None:
    if "tested by" in block.marks:
        ast.parse(block.text)
        return
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("physplan"):
            exec(ast.unparse(node), {})


@pytest.mark.parametrize("block", [b for b in EVERY if "needs" in b.marks], ids=str)
def test_what_is_not_run_says_why(block: Block) -> None:
    assert block.marks["needs"].startswith(KNOWN_NEEDS), block.marks["needs"]


@pytest.mark.parametrize("block", [b for b in EVERY if "tested by" in b.marks], ids=str)
def test_the_test_that_a_block_names_reads_its_page(block: Block) -> None:
    test = ROOT / block.marks["tested by"]
    assert Path(block.page).stem in test.read_text("utf-8")


def dry_runs() -> list[tuple[Block, str]]:
    """Of what cannot be run here: what the command itself says it would do."""
    found = [(block, command) for block in SHELL if "needs" in block.marks for command in block.commands]
    found = [(b, c) for b, c in found if "--image runs/" not in c]  # of a run before it on the page
    return [(b, c) for b, c in found if (arguments(c) or [""])[0] in ("generate", "batch")]


@pytest.mark.docs
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("block", "command"), dry_runs(), ids=lambda one: str(one)[:60])
def test_what_needs_more_than_this_machine_has_is_dry_run(
    block: Block,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sample", "ice-tray", "-o", "ice.png"]) == 0
    assert main(["sample", "ice-cloth", "-o", "cloth.png"]) == 0
    Image.new("RGB", (704, 480), "tan").save("photo.jpg")
    for other in blocks(block.page):
        if name := other.marks.get("file"):
            (tmp_path / name).write_text(other.text, encoding="utf-8")
    given = arguments(command) or []
    assert main([*given, *([] if "--dry-run" in given else ["--dry-run"])]) == 0
    assert "othing was" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def not_run(need: str) -> list[tuple[Block, str]]:
    """Commands of this need, each once."""
    found = {c: b for b in SHELL if b.marks.get("needs", "").startswith(need) for c in b.commands}
    return [(block, command) for command, block in found.items()]


@pytest.mark.parametrize(
    ("block", "command"),
    [(b, c) for b, c in not_run("data") if arguments(c) is not None],
    ids=lambda one: str(one)[:60],
)
def test_what_needs_data_says_what_is_not_there(
    block: Block,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments(command) or []) == 2
    said = capsys.readouterr()
    assert said.err.startswith("physplan: ")
    assert said.out == ""
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    ("block", "command"),
    [(b, c) for b, c in not_run("hours") if (arguments(c) or [])[:2] == ["evaluate", "sandbox"]],
    ids=lambda one: str(one)[:60],
)
def test_what_takes_hours_is_a_study_that_can_begin(
    block: Block, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []
    monkeypatch.setattr(sandbox, "measure", lambda args, study, *more, **options: begun.append(study) or 0)
    assert main(arguments(command) or []) == 0
    assert len(begun) == 1
    assert begun[0].arms


def benchmark_words() -> dict[str, list[str]]:
    """What the pages give to each benchmark, in all their commands together."""
    found: dict[str, list[str]] = {}
    for _, command in not_run("hours"):
        if arguments(command) is None:
            module, *words = shlex.split(command.removeprefix("python -m "))
            found[module] = [*found.get(module, []), *words]
    return found


@pytest.mark.docs
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("module", "words"), benchmark_words().items(), ids=list(benchmark_words()))
def test_a_benchmark_has_the_options_that_the_pages_give_it(
    module: str, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = [word for word in words[:1] if not word.startswith("-")]  # a part of it with options of its own
    monkeypatch.setattr(sys, "argv", [module, *part, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_module(module, run_name="__main__")
    told = capsys.readouterr().out
    assert [word for word in words if word.startswith("-") and word not in told] == []


def test_a_makefile_target_can_be_planned() -> None:
    targets = sorted({c.split()[1] for b in SHELL for c in b.commands if c.startswith("make ")})
    command = ["make", "-n", "--old-file=.venv/.base", "--old-file=.venv/.dev", *targets]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

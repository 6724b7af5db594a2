"""The repository as a newcomer meets it: two commands, pins, and nothing of the machine it was made on."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def readme_commands() -> list[str]:
    """The commands of the README's first block."""
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block
    return [line.split("#")[0].strip() for line in block.group(1).splitlines()]


def test_no_file_names_this_machine_or_a_package_registry() -> None:
    machine = ["/" + name + "/" for name in ("work", "root", "tmp", "home")]
    registries = ["py" + "pi.org", "python" + "hosted.org", "npm" + "js.org"]
    forbidden = re.compile("|".join(rf"(?<![\w.-]){re.escape(text)}" for text in machine + registries))
    found = []
    for path in tracked_files():
        content = path.read_bytes()
        if b"\0" not in content and (match := forbidden.search(content.decode("utf-8", "replace"))):
            found.append(f"{path.relative_to(ROOT)}: {match.group()}")
    assert not found


def test_the_readme_starts_with_three_commands() -> None:
    assert readme_commands() == ["make demo", "make photo", "make test"]


def test_a_second_make_test_installs_nothing(tmp_path: Path) -> None:
    """What `make` would run, before and after the environment has been made."""
    needed = [
        f"requirements/{name}"
        for name in ("base.txt", "photo.txt", "dev.txt", "cpu.txt", "cuda.txt", "uv.txt", "install.py")
    ]
    (tmp_path / "requirements").mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", *needed):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
        os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))

    def planned() -> str:
        plan = subprocess.run(
            ["make", "-n", "test"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return plan.stdout

    assert "requirements/install.py base" in planned()
    assert "requirements/install.py dev" in planned()
    (tmp_path / ".venv").mkdir()
    for stamp in (".base", ".dev"):
        (tmp_path / ".venv" / stamp).touch()
    assert "install.py" not in planned()
    assert "tests/side_by_side.py" in planned()  # which runs pytest


def test_ci_runs_the_readmes_test_command() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_dependency_is_pinned_in_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {re.split(r"[<>=\[ ]", name)[0].lower() for name in wanted if not name.startswith("types-")}
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    assert not names - pinned


def test_links_in_the_documentation_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_two_halves_of_the_suite_are_all_of_it_and_share_nothing() -> None:
    from side_by_side import halves

    heavy, rest = halves()
    chosen = [ROOT / name for name in (*heavy, *rest)]
    for path in (ROOT / "tests").rglob("test_*.py"):
        assert sum(path.is_relative_to(one) for one in chosen) == 1, path

"""What is installed is what was tested: every package is in the lock, with its version and a hash."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "requirements"))
import install  # noqa: E402
import licences  # noqa: E402
import lock  # noqa: E402

HASHED = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n")
OWN = {"physplan", "pip"}  # pip is the environment's own


def installed() -> dict[str, str]:
    """What was there when `make` had set the environment up; what a person adds to it later is theirs."""
    stamp = Path(sys.prefix) / ".dev"
    if not install.lock_fits() or not stamp.exists():
        pytest.skip("not an environment that make has set up from the lock")
    found = {}
    for one in distributions():
        place = Path(str(one.locate_file("")))  # ray shows its own copies of packages once it is imported
        folder = getattr(one, "_path", place)
        if place == Path(sysconfig.get_path("purelib")) and folder.stat().st_mtime <= stamp.stat().st_mtime:
            found[lock.normal(one.metadata["Name"])] = one.version
    return {name: version for name, version in found.items() if name not in OWN}


def test_nothing_else_gets_in() -> None:
    allowed = set().union(*(licences.read_lock(name).items() for name in ("dev", "cpu", "cuda")))
    strange = installed().items() - allowed
    assert not strange, "not in the lock: `rm -r .venv` and make it anew, or `make lock`"


@pytest.mark.parametrize("name", ["base", "photo", "dev", "cpu", "cuda", "uv"])
def test_every_line_of_a_lock_has_one_version_and_hashes(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    lines = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert HASHED.sub("", lines) == ""


def test_the_constraints_pin_all_that_the_lock_holds_and_the_same() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = {lock.normal(n): v for n, _, v in (line.partition("==") for line in lines) if v}
    dev, base, photo = (licences.read_lock(name) for name in ("dev", "base", "photo"))
    assert dev.items() <= pinned.items()
    assert base.items() <= photo.items() <= dev.items()


def test_the_lock_holds_all_that_the_package_asks_for() -> None:
    asked = {lock.normal(re.split(r"[<>=!\[; ]", name)[0]) for name in lock.wanted(*lock.TESTED)}
    assert asked <= licences.read_lock("dev").keys() | {"torch"}, "make lock"
    assert install.EXTRAS["dev"] == f"[{','.join(lock.TESTED)}]"


def test_both_builds_of_torch_are_in_the_lock() -> None:
    """For the CPU alone, and the index's own with CUDA: of one version."""
    cpu, cuda = licences.read_lock("cpu"), licences.read_lock("cuda")
    assert cpu == {"torch": f"{cuda['torch']}+cpu"}
    assert any(name.startswith("nvidia-") for name in cuda)
    pinned = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert f"torch=={cuda['torch']}" in pinned, "without the local part, which other indexes do not have"


@pytest.mark.parametrize(
    ("card", "pip_knows", "uv_finds", "taken"),
    [
        (True, True, True, ["cuda"]),
        (False, True, True, ["cpu"]),
        (False, False, True, ["cpu", "uv", "by uv"]),
        (False, False, False, ["cpu", "uv", "by uv", "cuda"]),
    ],
)
def test_without_an_nvidia_card_torch_is_the_one_for_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    card: bool,
    pip_knows: bool,
    uv_finds: bool,
    taken: list[str],
) -> None:
    tried = []

    def locked(name: str, *, needed: bool = True) -> bool:
        tried.append(name)
        return name != "cpu" or pip_knows

    def uv(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[1:3] == ["-m", "uv"]
        assert {"--torch-backend", "--require-hashes"} <= set(command)
        tried.append("by uv")
        return subprocess.CompletedProcess(command, 0 if uv_finds else 1)

    monkeypatch.setattr(install, "has_nvidia", lambda: card)
    monkeypatch.setattr(install, "install_locked", locked)
    monkeypatch.setattr(install, "pip", lambda *_, **__: True)
    monkeypatch.setattr(subprocess, "run", uv)
    install.install_torch()
    assert tried == taken
    assert ("several GB" in capsys.readouterr().err) == (taken[-1] == "cuda" and not card)


def test_a_file_that_is_not_in_the_lock_is_refused(tmp_path: Path) -> None:
    """Another file under a locked name and version, offered to pip as install.py asks it."""
    lines = (ROOT / "requirements" / "dev.txt").read_text()
    (tmp_path / "one.txt").write_text(re.search(r"annotated-doc==.*\n.*\n", lines)[0])  # type: ignore[index]
    version = licences.read_lock("dev")["annotated-doc"]
    (tmp_path / f"annotated_doc-{version}-py3-none-any.whl").write_bytes(b"PK\x05\x06" + b"\0" * 18)
    command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-deps", "--no-index"]
    command += [
        "--find-links",
        str(tmp_path),
        "--target",
        str(tmp_path / "in"),
        "-r",
        str(tmp_path / "one.txt"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert not (tmp_path / "in").exists()


def test_the_page_of_licences_has_each_package_of_the_lock() -> None:
    lock = licences.read_lock("dev") | licences.read_lock("cpu")
    if not lock.items() <= installed().items():
        pytest.skip("not all of the lock is installed")
    rows = re.findall(r"^\| (\S+) \| (\S+) \| (.+?) \| (tests)? ?\|$", licences.page(), re.M)
    assert {(name, version) for name, version, _, _ in rows[1:]} == lock.items()
    said = {name: (licence, use) for name, _, licence, use in rows}
    assert said["accelerate"] == ("Apache-2.0", "")
    assert said["mkdocs"][1] == "tests"

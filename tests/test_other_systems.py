"""What Windows and macOS lack is not asked for: no `fcntl`, text names its encoding, paths of any kind."""

from __future__ import annotations

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import physplan

WITHOUT_FCNTL = """
import builtins, importlib, sys
own = builtins.__import__

UNIX = ("fcntl", "resource", "termios", "pwd", "grp")

def as_on_windows(name, globals=None, *rest, **more):
    if name in UNIX and (globals or {}).get("__name__", "").startswith("physplan"):
        raise ModuleNotFoundError(name)
    return own(name, globals, *rest, **more)

builtins.__import__ = as_on_windows
for name in sys.argv[1:]:
    importlib.import_module(name)
from physplan.files import write_atomic
from physplan.runs import RunFolder
from pathlib import Path
write_atomic(Path("text.txt"), "Eis schmilzt: \\u2744")
with RunFolder("run").locked():
    pass
from physplan.cli import main
sys.exit(main(["sample", "ice-tray", "-o", "\\u00e9t\\u00e9 d'ice.png"]))
"""


PACKAGES = (
    *("physplan", "physplan_models", "physplan_sandbox", "physplan_photo", "physplan_bench"),
    *("physplan_studio", "physplan_signing"),
)


def modules(*packages: str) -> list[str]:
    """All that can be imported without an extra or a model."""
    source = str(Path(physplan.__file__).parents[1])
    walked = pkgutil.walk_packages([source], onerror=lambda name: None)
    found = [one for one in walked if one.name.partition(".")[0] in packages]
    moved = {f"physplan.{name}" for name in ("sandbox", "evaluation", "study", "studio")}
    return [one.name for one in found if not one.name.endswith("__main__") and one.name not in moved]


def test_every_module_is_imported_and_files_are_written_where_there_is_no_fcntl(tmp_path: Path) -> None:
    # cp1252 is the text encoding of many a Windows: what is written without naming one shows here
    source = str(Path(physplan.__file__).parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": source,
        "PYTHONIOENCODING": "cp1252",
        "PYTHONWARNDEFAULTENCODING": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FCNTL, *modules("physplan")],
        cwd=tmp_path, env=environment, capture_output=True, encoding="cp1252", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "text.txt").read_text("utf-8") == "Eis schmilzt: ❄"
    assert (tmp_path / "été d'ice.png").exists()
    ours = [line for line in done.stderr.splitlines() if "EncodingWarning" in line and source in line]
    assert ours == []


@pytest.mark.parametrize("name", ["with space", "ünïcode", "dots.in.name", "-leading"])
def test_a_run_folder_may_be_called_anything(tmp_path: Path, name: str) -> None:
    from physplan.runs import RunFolder

    with RunFolder(tmp_path / name).locked() as folder:
        folder.log("begun")
    assert "begun" in (tmp_path / name / "log.txt").read_text("utf-8")


FIRST = """
import importlib, sys
import diffusers, torch, transformers  # these stay loaded, only our own modules are taken out again
for name in sys.argv[1:]:
    for loaded in [one for one in sys.modules if one.partition(".")[0].startswith("physplan")]:
        del sys.modules[loaded]
    importlib.import_module(name)
"""


@pytest.mark.slow
def test_each_module_can_be_the_first_that_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST, *modules(*PACKAGES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]

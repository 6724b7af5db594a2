"""An environment with what `make setup` installs and no more, linked together from the one the tests run in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "requirements"))
import licences  # noqa: E402

COMMAND = "#!{python}\nimport sys\nfrom physplan.cli import main\nsys.exit(main())\n"


def link_base_install(folder: Path) -> Path:
    """`folder` as a virtual environment; its commands are in the returned folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    names = {"base": str(folder), "platbase": str(folder), "installed_base": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=names))
    for name in {**licences.read_lock("base"), **licences.read_lock("cpu"), **licences.read_lock("cuda")}:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:  # of the other build of torch
            continue
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / part).exists():
                (packages / part).symlink_to(distribution(name).locate_file(part))
    (packages / "physplan.pth").write_text(str(ROOT / "src"), encoding="utf-8")
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    script = commands / "physplan"
    script.write_text(COMMAND.format(python=commands / "python"), encoding="utf-8")
    script.chmod(0o755)
    return commands

"""An environment with what `make setup` installs and no more, linked from the one the tests run in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.docs.pages import ROOT

sys.path.insert(0, str(ROOT / "requirements"))
import licences

# As pip writes it: what a worker process imports again must not run again.
COMMAND = """#!{python}
import sys
from physplan.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


def link_base_install(folder: Path) -> Path:
    """`folder` as a virtual environment; its commands are in the returned folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    names = {"base": str(folder), "platbase": str(folder), "installed_base": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=names))
    # Its description is there as pip left it; the code is this checkout's.
    about = next(
        file for file in distribution("physplan").files or [] if file.parts[0].endswith(".dist-info")
    )
    (packages / about.parts[0]).symlink_to(distribution("physplan").locate_file(about.parts[0]))
    for name in {**licences.read_lock("base"), **licences.read_lock("cpu"), **licences.read_lock("cuda")}:
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:  # of the other build of torch
            continue
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / part).exists():
                (packages / part).symlink_to(distribution(name).locate_file(part))
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    script = commands / "physplan"
    script.write_text(COMMAND.format(python=commands / "python"), encoding="utf-8")
    script.chmod(0o755)
    return commands

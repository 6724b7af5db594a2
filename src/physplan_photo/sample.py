"""`python -m physplan_photo.sample FILE`: a CC0 photograph, a rocket on its pad, from scikit-image's wheel.

pip's own client fetches the wheel from the index that it is configured for; nothing is installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from physplan.errors import PhysPlanError
from physplan.files import write_atomic

PACKAGE, INSIDE = "scikit-image==0.26.0", "skimage/data"
# CC0 or in the public domain, as the package's README of that folder says.
PHOTOGRAPHS = {
    "rocket.jpg": "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
    "coffee.png": "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
    "chelsea.png": "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
}


def fetch_sample(path: Path) -> Path:
    """The rocket at `path`, fetched once."""
    if not path.exists():
        write_atomic(path, _fetched({"rocket.jpg": PHOTOGRAPHS["rocket.jpg"]}, path)["rocket.jpg"])
    return path


def fetch_photographs(folder: Path) -> list[Path]:
    """All of them in `folder`, fetched once."""
    lacking = {name: digest for name, digest in PHOTOGRAPHS.items() if not (folder / name).exists()}
    for name, content in (_fetched(lacking, folder) if lacking else {}).items():
        write_atomic(folder / name, content)
    return [folder / name for name in PHOTOGRAPHS]


def _fetched(wanted: Mapping[str, str], place: Path) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*command, "-d", folder, PACKAGE], capture_output=True, text=True)
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise PhysPlanError(
                f"pip could not fetch {PACKAGE}, whose data holds the photograph: put one of a rocket at "
                f"{place} and run this again."
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            found = {name: archive.read(f"{INSIDE}/{name}") for name in wanted}
    for name, digest in wanted.items():
        if hashlib.sha256(found[name]).hexdigest() != digest:
            raise PhysPlanError(f"{name} of {PACKAGE} is not what was expected: nothing is kept.")
    return found


if __name__ == "__main__":
    try:
        print(fetch_sample(Path(sys.argv[1] if len(sys.argv) > 1 else "out/photo/rocket.jpg")))
    except PhysPlanError as error:
        sys.exit(f"physplan: {error}")

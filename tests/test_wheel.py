"""What users install: the wheel carries the sandbox with its weights, and works without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UNPLUGGED = """
import socket

def refuse(*_, **__):
    raise OSError("the network was used")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

import numpy as np
from PIL import Image
import physplan
from physplan.pipeline import PhysPlan
from physplan_sandbox.world.phenomena import scene

assert "unpacked" in physplan.__file__, physplan.__file__
quick = {"video.num_inference_steps": 2}
quick["guided_sketch.schedule"] = {"layout_steps": 1, "guided_steps": 1, "repeats": 1}
shown = scene("test", 20)
picture = Image.fromarray(shown.render().frames[0])
made = PhysPlan.from_preset("sandbox", **quick).generate(picture, shown.prompt)
assert made.video.shape == (33, 3, 96, 96)
assert made.plan.events
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_carries_the_weights_with_their_cards(unpacked: Path) -> None:
    weights = unpacked / "physplan_sandbox" / "weights"
    parts = {path.parent.relative_to(weights).as_posix() for path in weights.rglob("*.safetensors")}
    networks = {f"video/{name}" for name in ("outline", "contour", "drawing", "autoencoder", "text_encoder")}
    assert parts == {"encoder", "sight", "lit-drawing", *networks}
    assert {path.parent.name for path in weights.rglob("README.md")} >= {"encoder", "sight", "video"}
    assert sum(path.stat().st_size for path in weights.rglob("*")) < 40e6


def test_the_wheel_holds_the_package_and_nothing_beside_it(unpacked: Path) -> None:
    def kept(folder: Path) -> set[str]:
        files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {path.as_posix() for path in files if "__pycache__" not in path.parts}

    packages = {path.name for path in (ROOT / "src").iterdir()}
    assert {path.name.split("-")[0] for path in unpacked.iterdir()} == packages
    for name in packages:
        assert kept(unpacked / name) == kept(ROOT / "src" / name)
    (about,) = unpacked.glob("*.dist-info")
    assert "physplan = physplan.cli:main" in (about / "entry_points.txt").read_text("utf-8")
    assert list(about.rglob("LICENSE"))


def test_the_sdist_holds_what_a_newcomer_needs_and_nothing_of_the_machine(tmp_path: Path) -> None:
    """All that is not ignored but the forge's own files, and pip's description."""
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(ask, cwd=ROOT, capture_output=True, check=False, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    kept = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    of_the_forge = {name for name in kept if name.startswith((".", "Dockerfile"))}
    assert kept - of_the_forge <= names
    assert names <= kept | {"PKG-INFO"}


def test_the_sandbox_of_the_wheel_makes_a_video_with_the_network_blocked(unpacked: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", UNPLUGGED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]

"""docs/extending.md: the package of the page is installed, and all it adds is used from the command line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from tests.docs.pages import ROOT, blocks

from physplan_sandbox.samples import first_frame, sample
from physplan_testing import tiny_skyreels

PAGE = "docs/extending.md"
TINY = {  # the page's model from a folder of tiny random weights, at a size for a test
    "video.source": "weights",
    "video.height": 32,
    "video.width": 32,
    "video.num_frames": 9,
    "video.num_inference_steps": 2,
    "video.dtype": "fp32",
    "runtime.checkpointing": False,
    "guidance.schedule.repeats": [1],
    "guidance.schedule.travel": [0, -1],
}


def install(target: Path) -> None:
    """What pip makes of the page's files: the modules, and a dist-info with their entry points."""
    files = {
        b.marks["file"]: b.text for page in (PAGE, "docs/video.md") for b in blocks(page) if "file" in b.marks
    }
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = target / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        f"[{group}]\n" + "".join(f"{name} = {entry}\n" for name, entry in named.items())
        for group, named in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    for name in ("lamplight.py", "skyreels.py"):
        (target / name).write_text(files[name])


def physplan(folder: Path, site: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(path) for path in (site, ROOT / "src") if path])
    return subprocess.run(
        [sys.executable, "-m", "physplan", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def command() -> list[str]:
    """The page's command, as arguments of `physplan`."""
    (block,) = (block for block in blocks(PAGE) if block.language == "sh")
    (line,) = block.commands
    return shlex.split(line)[1:]


@pytest.mark.slow
def test_the_pages_package_is_used_from_the_command_line(tmp_path: Path) -> None:
    install(tmp_path / "site")
    tiny_skyreels.build(tmp_path / "weights")
    first_frame(sample("ice-tray")).save(tmp_path / "ice.png")
    small = [word for name, value in TINY.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    done = physplan(tmp_path, tmp_path / "site", *command(), *small)
    assert done.returncode == 0, done.stderr[-2000:]

    run = tmp_path / "run"
    with av.open(str(run / "video.mp4")) as video:
        assert video.streams.video[0].frames == 9
    record = json.loads((run / "run.json").read_text())
    assert record["inputs"]["method"] == "gentle"
    identity = record["identity"]
    assert (identity["video.model"], identity["editor.name"]) == ("skyreels-v2", "paint-out")
    first, drawn = (np.asarray(Image.open(run / name)) for name in ("frame.png", "keyframes/1.png"))
    painted = (first != drawn).any(-1)
    assert painted.any()
    assert (drawn[painted] == 128).all()
    steps = json.loads((run / "losses.json").read_text())["steps"]
    warm = [term for step in steps for term in step["terms"] if term["term"] == "warm"]
    assert warm
    assert all(term["value"] > 0 for term in warm)


@pytest.mark.parametrize("words", [["--method", "gentle"], ["--set", "guidance.losses=[terms, warm]"]])
def test_without_the_package_its_parts_are_unknown(tmp_path: Path, words: list[str]) -> None:
    first_frame(sample("ice-tray")).save(tmp_path / "ice.png")
    asked = ["generate", "--image", "ice.png", "--prompt", "an ice cube melting in the sun", "--dry-run"]
    done = physplan(tmp_path, None, *asked, "--method", "physplan", *words)
    assert done.returncode not in (0, None)
    assert "There is no" in done.stderr
    assert "Traceback" not in done.stderr

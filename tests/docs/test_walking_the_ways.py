"""The quick start's ways, walked: each command as printed, with loopback servers and tiny models of the real
classes under the hub names that the presets have. "Nothing" is walked with the real weights, where they are.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.docs.pages import ROOT, Block, blocks
from tests.photo.conftest import need, shared
from tests.pipeline import tiny_pipelines

import tiny_editors
import tiny_perception
from physplan import machine
from physplan.cli import main
from physplan.presets import recipe
from physplan.runs import layout
from physplan_models.cli.ways import WAYS, Way
from physplan_photo.weights import VARIABLE
from physplan_testing import tiny_models
from physplan_testing.loopback import GeminiServer, OpenAIServer
from physplan_testing.video_servers import GeminiVideoServer

Said = pytest.CaptureFixture[str]
pytestmark = [pytest.mark.docs, pytest.mark.slow, pytest.mark.timeout(3600)]
PAGE = "docs/quickstart.md"
HUB = {
    "IDEA-Research/grounding-dino-tiny": tiny_perception.grounding_dino,
    "facebook/sam2.1-hiera-small": tiny_perception.sam2,
    "depth-anything/Depth-Anything-V2-Small-hf": tiny_perception.depth_anything,
    "facebook/dinov2-base": tiny_perception.dinov2,
    "black-forest-labs/FLUX.1-Kontext-dev": tiny_editors.flux_kontext,
    "Lightricks/LTX-Video-0.9.5": lambda folder: tiny_models.build("ltx095", folder),
}
# Tiny random models at the sizes that they are made for; everything else is the preset's.
SMALL: dict[str, dict[str, Any]] = {
    "video": {"width": 64, "height": 32, "num_frames": 9},
    "editor": {"redraws": 0},
}
SEGMENTER = {"threshold": 0.0, "edges": [128, 128]}
EDITOR = {
    "torch_dtype": "fp32",
    "area": 32 * 32,
    "group_offload": False,
    "options": {"num_inference_steps": 1, "max_sequence_length": 32, "_auto_resize": False},
}
SERVED: dict[str, OpenAIServer] = {}


def way(preset: str) -> Way:
    return next(one for one in WAYS if one.preset == preset)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of the hub with tiny models under the real names."""
    folder = tmp_path_factory.mktemp("hub")
    for name, build in HUB.items():
        place = folder / f"models--{name.replace('/', '--')}"
        (place / "refs").mkdir(parents=True)
        (place / "refs" / "main").write_text("0" * 40)
        build(place / "snapshots" / ("0" * 40))
    return folder


@pytest.fixture
def reader(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder with a photograph, on a machine that is large enough and offline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(machine, "memory_gb", lambda: 64.0)
    Image.new("RGB", (704, 480), "tan").save(tmp_path / "photo.jpg")
    return tmp_path


def section(way: Way) -> list[Block]:
    """The blocks of the quick start under this way's heading."""
    lines = (ROOT / PAGE).read_text("utf-8").splitlines()
    first = lines.index(f"### With {way.have}")
    ends = (n for n in range(first + 1, len(lines)) if lines[n].startswith(("### ", "## ")))
    last = next(ends, len(lines))
    return [block for block in blocks(PAGE) if first < block.line <= last]


def make_small(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = recipe(preset)
    for part, changes in SMALL.items():
        monkeypatch.setitem(known, part, {**known[part], **changes})  # type: ignore[arg-type]
    seen = json.loads(json.dumps(known["perception"]))
    seen["segmenter"]["options"] |= SEGMENTER
    seen["depth"]["options"] |= {"size": 28}
    monkeypatch.setitem(known, "perception", seen)  # type: ignore[arg-type]
    if known["editor"]["name"] == "flux-kontext":
        editor = {**known["editor"], "options": {**known["editor"]["options"], **EDITOR}}
        monkeypatch.setitem(known, "editor", editor)  # type: ignore[arg-type]
        monkeypatch.setitem(known, "video", {**known["video"], "height": 32, "width": 32, "dtype": "fp32"})  # type: ignore[arg-type]


def walk(way: Way, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line as it is printed: a shell's in this process, `vllm serve` and `hf auth login` by doubles."""
    lines = []
    for block in section(way):
        if name := block.marks.get("file"):
            Path(name).write_text(block.text, encoding="utf-8")
        else:
            lines += block.commands
    assert [command.split("   #")[0] for command in way.commands] == lines
    for line in lines:
        words = shlex.split(line)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            monkeypatch.setenv(name, value)
        elif words[:2] == ["vllm", "serve"]:
            serve(int(words[words.index("--port") + 1]), words[2], stack)
        elif words[:3] == ["hf", "auth", "login"]:
            Path(os.environ["HF_TOKEN_PATH"]).write_text("token")
        else:
            assert words[0] == "physplan"
            assert main(words[1:]) == 0, line


def serve(port: int, model: str, stack: ExitStack) -> None:
    """An OpenAI-compatible server at the port; a local one asks for no key, and the SDK sends "none"."""
    if machine.answers(f"http://localhost:{port}"):
        pytest.skip(f"something else listens at port {port}")
    server = OpenAIServer(tiny_pipelines.respond, key="none", port=port)
    stack.enter_context(server)
    SERVED[model] = server


class Gemini(GeminiVideoServer):
    """Text, pictures and Veo at one address."""

    def __init__(self) -> None:
        super().__init__()
        self.text = GeminiServer(tiny_pipelines.respond)

    def respond(
        self, verb: str, path: str, body: bytes, kind: str
    ) -> tuple[int, str, bytes, Mapping[str, str]]:
        if not path.endswith(":generateContent"):
            return super().respond(verb, path, body, kind)
        asked = self.text.decode(path, json.loads(body), {})
        self.text.asked.append(asked)
        answer = self.text.respond(asked)
        assert answer is not None
        return 200, "application/json", json.dumps(self.text.encode(answer)).encode(), {}


def made(folder: Path) -> Path:
    """The run that the last command left, with everything that the page promises of it."""
    (run,) = (folder / "runs").iterdir()
    for name in (layout.PLAN, layout.VIDEO, layout.VERDICT, layout.REPORT):
        assert (run / name).is_file(), name
    return run


def test_with_a_server(
    reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_small("storyboard", monkeypatch)
    with ExitStack() as stack:
        walk(way("storyboard"), stack, monkeypatch)
        assert [asked.model for asked in SERVED["Qwen/Qwen-Image-Edit-2511"].asked]
        assert SERVED["Qwen/Qwen3-VL-4B-Instruct"].acts()[0] == "nodes"
    made(reader)
    assert "all its weights" in capsys.readouterr().out


def test_with_a_12_gb_card(
    reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the CPU, in the place of the card."""
    make_small("home", monkeypatch)
    with ExitStack() as stack:
        walk(way("home"), stack, monkeypatch)
    made(reader)
    said = capsys.readouterr().out
    assert "Nothing was done." in said
    assert "The video is" in said


def test_with_a_key(
    reader: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_small("cloud", monkeypatch)
    with Gemini() as server, ExitStack() as stack:
        server.key = "..."  # as it is printed
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        walk(way("cloud"), stack, monkeypatch)
        assert set(server.seen_keys) == {"..."}
        assert len(server.jobs) >= 3
    made(reader)
    assert "USD in all" in capsys.readouterr().out


def test_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shell, with the real weights and a real photograph, which the second line finds fetched."""
    if not os.environ.get(VARIABLE) and shared("weights").is_dir():
        monkeypatch.setenv(VARIABLE, str(shared("weights")))
    need("mobile_sam.pt", "migan_pipeline_v2.onnx")
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(shared("photographs") / "rocket.jpg", tmp_path / "rocket.jpg")
    commands = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    for line in [line for block in section(way("photo")) for line in block.commands]:
        done = subprocess.run(line, shell=True, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}: {done.stderr[-500:]}"
    assert "The video is" in done.stdout
    made(tmp_path)

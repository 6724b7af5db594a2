"""`physplan show` and `physplan doctor`: what people see first."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from physplan.cli import build_parser, main
from physplan.extras import install_command
from physplan.machine import Missing, gpus, missing
from physplan.presets import PRESETS, Needs

PLAN = str(files("physplan") / "data" / "melting_ice.json")


def test_show_prints_the_chain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["show", PLAN]) == 0
    out = capsys.readouterr().out
    for part in (
        "an ice cube melting in the sun",
        "Spawn(puddle#3 <- ice#1)",
        "liquid spreads over a flat support",
    ):
        assert part in out
    assert all(f" {frame} " in out for frame in (14, 29, 41))


def test_show_writes_each_kind_of_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg, png, html = (tmp_path / f"plan.{suffix}" for suffix in ("svg", "png", "html"))
    assert main(["show", PLAN, "-o", str(svg), "-o", str(png), "-o", str(html)]) == 0
    text = "".join(ElementTree.parse(svg).getroot().itertext())
    assert "puddle#3" in text
    assert "extent: spread over" in text
    with Image.open(png) as image:
        assert image.width > 1500
        assert len(set(image.convert("L").resize((200, 200)).tobytes())) > 20  # not a blank page
    page = html.read_text()
    assert "<svg" in page
    assert "Consume(ice#1)" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")  # opens without a network


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.json"], "no.json: cannot be read: No such file"),
        ([PLAN, "-o", "plan.pdf"], "plan.pdf: name a picture that ends in .svg, .png, .html"),
        ([PLAN, "-o", "file/plan.png"], "file/plan.png: cannot be written"),
        (["broken.json"], "broken.json: $: lacks the field 'schema_version'"),
    ],
)
def test_show_says_what_is_wrong(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    Path("broken.json").write_text("{}")
    assert main(["show", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_show_survives_odd_text(tmp_path: Path) -> None:
    plan = json.loads(Path(PLAN).read_text())
    plan["prompt"] = "<b>melt & “freeze”</b> [bold]\n" + "氷" * 40 + " " + "x" * 300
    plan["graph"]["nodes"][0]["category"] = "<ice> & [snow]"
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(plan))
    for suffix in ("svg", "png", "html"):
        assert main(["show", str(path), "-o", str(tmp_path / f"odd.{suffix}")]) == 0
    assert "<ice> & [snow]" in "".join(ElementTree.parse(tmp_path / "odd.svg").getroot().itertext())


def test_doctor_reports_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["versions"]["physplan"]
    assert found["memory_gb"] > 0
    assert set(found["presets"]) >= {
        "sandbox",
        "storyboard",
        "cloud",
        "home",
        "desk",
        "open",
        "paper",
        "best",
    }
    memory = {name: preset["gpu_memory_gb"] for name, preset in found["presets"].items()}
    assert memory["storyboard"] == memory["sandbox"] == 0
    assert 0 < memory["home"] <= 11.5
    assert 0 < memory["desk"] <= 23
    assert all(max(p["stages"].values(), default=0) == p["gpu_memory_gb"] for p in found["presets"].values())
    work = {name: (preset["steps"], preset["repeats"]) for name, preset in found["presets"].items()}
    assert work["storyboard"] == (0, 0), "nothing is sampled"
    assert (work["home"], work["desk"], work["paper"]) == ((50, 0), (50, 70), (50, 135))
    for preset in found["presets"].values():
        assert preset["ready"] == (not preset["missing"])


def test_doctor_names_what_is_missing_and_never_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY_FILE", "GOOGLE_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["doctor", "--all"]) == 0
    out = capsys.readouterr().out
    assert "the key GEMINI_API_KEY or GOOGLE_API_KEY" in out
    assert "the weights THUDM/CogVideoX-5b-I2V" in out
    monkeypatch.setenv("GEMINI_API_KEY", "canary-3f9a")
    snapshot = tmp_path / "models--THUDM--CogVideoX-5b-I2V" / "snapshots" / "abc" / "transformer"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"x")
    assert main(["doctor", "--all"]) == 0
    out = capsys.readouterr().out
    assert "the key GEMINI_API_KEY" not in out
    assert "the weights THUDM/CogVideoX-5b-I2V" not in out
    assert "canary" not in out


def test_doctor_says_that_the_storyboard_takes_a_key_or_a_local_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY_FILE", "GOOGLE_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["presets"]
    fixes = {name: [m["fix"] for m in found[name]["missing"] if m["kind"] == "key"] for name in found}
    assert "a key or a local server" in found["storyboard"]["about"]
    assert fixes["storyboard"][0].endswith("or use a local server (docs/presets.md)")
    assert "local server" not in fixes["paper"][0]


def test_each_kind_of_need_is_found_missing_and_found_met(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("SOME_KEY", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        needs = Needs(
            about="everything",
            keys=("SOME_KEY",),
            server=("SOME_URL", free),
            extras={"magic": "no_such_module.at_all"},
            weights=("some/model",),
            memory_gb=10,
            stages={"latents": 20.0},
        )
        kinds = [item.kind for item in missing(needs, memory=5, gpu_memory=10)]
        assert kinds == ["key", "extra", "weights", "memory", "gpu"]
    monkeypatch.setenv("SOME_URL", free)
    monkeypatch.setenv("SOME_KEY_FILE", str(tmp_path / "key"))
    (tmp_path / "key").write_text("secret")
    lacking = list(missing(needs, memory=50, gpu_memory=100))
    assert [item.kind for item in lacking] == ["server", "extra", "weights"]
    assert lacking[1] == Missing("extra", "the package no_such_module.at_all", install_command("magic"))
    assert not list(missing(PRESETS["sandbox"], memory=50, gpu_memory=0))


def test_gated_weights_are_named_before_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "hub"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    main(["sample", "ice-tray", "-o", "ice.png"])
    dry = ["generate", "--image", "ice.png", "--prompt", "it melts", "--preset", "paper", "--dry-run"]
    words = "access to the gated weights facebook/dinov3"
    for command in (["doctor", "--all"], dry):
        capsys.readouterr()
        assert main(command) == 0
        assert words in capsys.readouterr().out
    monkeypatch.setenv("HF_TOKEN", "canary")
    assert main(["doctor", "--all"]) == 0
    out = capsys.readouterr().out
    assert words not in out
    assert "canary" not in out


COMMANDS = next(iter(build_parser()._subparsers._group_actions)).choices  # type: ignore[union-attr]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*([command] if command else []), "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    if command:
        assert "example" in out.lower()
        assert f"physplan {command}" in out
    else:
        assert all(name in out for name in COMMANDS)


def test_help_and_doctor_are_quick_and_import_no_torch() -> None:
    for arguments in (["--help"], ["doctor", "--json"]):
        code = (
            "import sys, time; from physplan.cli import main\n"
            f"try: main({arguments!r})\nexcept SystemExit: pass\n"
            f"assert {bool(gpus())} or 'torch' not in sys.modules, 'torch was imported'\n"
            "assert time.process_time() < 3, time.process_time()"
        )
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_weights_that_should_have_come_with_the_package_are_missed() -> None:
    there = Needs(about="", embedded=("physplan_sandbox/weights/sight",))
    gone = Needs(about="", embedded=("physplan_sandbox/weights/sights",))
    assert not list(missing(there, memory=64, gpu_memory=0))
    (found,) = missing(gone, memory=64, gpu_memory=0)
    assert found.what == "physplan_sandbox/weights/sights"

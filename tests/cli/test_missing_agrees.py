"""`--dry-run` and `physplan doctor` name the same missing things of every preset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from physplan.cli import main
from physplan.pipeline import PhysPlan

PRESETS = ("photo", "storyboard", "cloud", "home", "desk", "open", "paper", "best")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without keys, servers and weights."""
    monkeypatch.chdir(tmp_path)
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "PHYSPLAN_WEIGHTS"):
        monkeypatch.setenv(name, str(tmp_path / "hub"))
    for name in (
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY_FILE",
        "GOOGLE_API_KEY_FILE",
        "HF_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    assert main(["sample", "ice-tray", "-o", "ice.png"]) == 0
    return tmp_path


def test_the_same_things_are_missing(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["doctor", "--json"]) == 0
    doctor = json.loads(capsys.readouterr().out)["presets"]
    for preset in PRESETS:
        found = PhysPlan.from_preset(preset).forecast(
            "ice.png", "the ice melts", output_dir=bare / "out", with_memory=False
        )
        # Without its GPU a run would be on the CPU, whose memory the doctor does not count.
        said = {one.what for one in (*found.missing, *found.wanted) if one.kind != "memory"}
        assert said == {one["what"] for one in doctor[preset]["missing"] if one["kind"] != "memory"}, preset
        assert all(
            "physplan models get" in one.fix
            for one in (*found.missing, *found.wanted)
            if one.kind == "weights"
        )

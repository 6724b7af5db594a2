"""The quick start, the doctor and the presets say the same about each reader's way to a video."""

from __future__ import annotations

import pytest
from tests.docs.pages import ROOT

from physplan import machine
from physplan.cli import main
from physplan.presets import PRESETS
from physplan_models.cli.ways import WAYS, Way, chosen

PAGE = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
# GB fetched per repository: number of weights times the bytes they are stored in; not measured.
DOWNLOAD_GB = {
    "IDEA-Research/grounding-dino-tiny": 0.69,
    "facebook/sam2.1-hiera-small": 0.18,
    "facebook/sam2.1-hiera-large": 0.9,
    "facebook/sam3": 3.4,
    "depth-anything/Depth-Anything-V2-Small-hf": 0.1,
    "facebook/dinov2-base": 0.35,
    "facebook/dinov3-vitb16-pretrain-lvd1689m": 0.35,
    "black-forest-labs/FLUX.1-Kontext-dev": 33.7,
    "Lightricks/LTX-Video-0.9.5": 16.0,
    "Lightricks/LTX-Video": 15.0,
    "THUDM/CogVideoX-5b-I2V": 21.5,
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.preset)
def test_the_quick_start_has_every_way_with_its_commands(way: Way) -> None:
    section = PAGE.split(f"\n### With {way.have}\n")[1].split("\n### ")[0].split("\n## ")[0]
    for command in way.commands:
        assert command.split("   #")[0] in section
    for words in (way.download, way.money, way.leaves, way.time, way.gives):
        assert words in " ".join(section.split()), words


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.preset)
def test_the_readme_names_every_way(way: Way) -> None:
    assert f"| {way.have} | `{way.preset}` |" in README


@pytest.mark.parametrize("way", [w for w in WAYS if w.preset != "photo"], ids=lambda way: way.preset)
def test_the_download_is_that_of_the_presets_weights(way: Way) -> None:
    size = sum(DOWNLOAD_GB[name] for name in PRESETS[way.preset].weights)
    assert f"{size:.0f} GB" in way.download or f"{size:.1f} GB" in way.download


@pytest.mark.parametrize(
    ("memory", "key", "server", "preset"),
    [
        (0, False, False, "photo"),
        (0, False, True, "storyboard"),
        (0, True, True, "cloud"),
        (8, True, False, "cloud"),
        (12, True, True, "home"),
        (24, False, False, "desk"),
    ],
)
def test_doctor_chooses_by_card_then_key_then_server(
    memory: int, key: bool, server: bool, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "has_key", lambda name: key)
    monkeypatch.setattr(machine, "answers", lambda url: server)
    lacking = {name: [{"kind": "gpu"}] if PRESETS[name].gpu_memory_gb > memory else [] for name in PRESETS}
    found = {
        "gpus": [{"memory_gb": memory}] if memory else [],
        "presets": {name: {"missing": one} for name, one in lacking.items()},
    }
    assert chosen(found).preset == preset


def test_doctors_first_screen_is_a_screen_with_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY_FILE", "GOOGLE_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "answers", lambda url: False)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120
    assert any(line.strip().startswith("1. physplan models get") for line in lines) or "card" in lines[2]
    assert "physplan doctor --all" in lines[-1]

"""`reasoner.prompts`: templates of one's own, checked before anything is paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from physplan.calls.settings import CallSettings
from physplan.errors import PhysPlanError
from physplan.pipeline import PhysPlan
from physplan.pipeline.config import Inputs
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.stage_keys import deciding_settings
from physplan.reasoning import make_reasoner, plan
from physplan.reasoning.templates import VERSION, PromptSet
from physplan_models.reasoning.vlm import VLMReasoner
from physplan_testing import melting
from physplan_testing.melting import PROMPT
from physplan_testing.sites import MODEL, MakeSite

TRANSLATE = "Say it in edits.\n{{relations}}\n{{attributes}}\n{{conventions}}\nAt most {{max_value}} letters."


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "translate.md").write_text(TRANSLATE)
    (folder / "notes.txt").write_text("not a prompt")
    return folder


def test_the_own_wording_is_what_the_model_is_asked(
    gemini_site: MakeSite, prompts: Path, picture: Path
) -> None:
    site = gemini_site(melting.respond)
    reasoner = VLMReasoner(site.gateway(), MODEL, prompts=PromptSet.read(prompts))
    chain = plan(reasoner, picture, PROMPT)
    translated = [asked.system for asked in site.server.asked if asked.act == "edits"]
    assert translated
    assert all(system.startswith("Say it in edits.\n- ") for system in translated)
    assert all("{{" not in asked.system for asked in site.server.asked)
    others = [asked.system for asked in site.server.asked if asked.act == "nodes"]
    assert others[0] == PromptSet.read(None).instructions("parse"), "what the folder lacks is ours"
    version = chain.provenance["prompts"]
    assert version == PromptSet.read(prompts).version != VERSION


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("translate.md", TRANSLATE.replace("{{relations}}", ""), r"translate.md lacks \{\{relations\}\}"),
        ("translate.md", TRANSLATE + "{{relation}}", r"fills in \{\{relation\}\}.*'relations'"),
        ("translate.md", TRANSLATE + "{{max_events}}", r"fills in \{\{max_events\}\}"),
        ("translate.md", TRANSLATE.replace("{{relations}}", "{{ relations }}"), "without spaces"),
        ("translation.md", TRANSLATE, "no prompt of this name. Did you mean 'translate'"),
        ("translate.md", "x" * 100_001, "at most 100 kB"),
        ("translate.md", b"\xff\xfe", "UTF-8"),
        ("translate.txt", TRANSLATE, "holds no prompts"),
    ],
)
def test_a_set_that_does_not_fit_is_one_sentence(
    tmp_path: Path, name: str, text: str | bytes, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    with pytest.raises(PhysPlanError, match=problem):
        make_reasoner("paper", CallSettings(folder=tmp_path / "calls"), prompts=folder)
    assert not (tmp_path / "calls").exists()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PhysPlanError, match="holds no prompts"):
        PromptSet.read(tmp_path / "nowhere")


def test_a_reasoner_that_asks_no_model_takes_no_prompts(prompts: Path) -> None:
    with pytest.raises(PhysPlanError, match=r"'sandbox' asks no model: leave out reasoner\.prompts"):
        make_reasoner("sandbox", prompts=prompts)


def test_all_of_ours_pass_the_check_for_others(tmp_path: Path) -> None:
    own = PromptSet.read(None).texts
    for name, text in own.items():
        (tmp_path / f"{name}.md").write_text(text)
    assert PromptSet.read(tmp_path).texts == own


def test_changed_prompts_plan_again_and_none_change_no_key(prompts: Path, tmp_path: Path) -> None:
    image = melting.draw(tmp_path / "ice.png")
    pp = PhysPlan.from_preset("paper", **{"reasoner.prompts": str(prompts), "video.num_frames": 25})
    before = PromptSet.read(prompts).version
    (prompts / "translate.md").write_text(TRANSLATE + "\nBe brief.")
    assert PromptSet.read(prompts).version != before
    (prompts / "parse.md").write_text("no placeholders")
    with pytest.raises(PhysPlanError, match=r"parse\.md lacks"):
        pp.forecast(image, PROMPT, output_dir=tmp_path / "run")
    config = load_config("sandbox")
    without = deciding_settings(config, Inputs(image="i", prompt="p"))
    given = deciding_settings(config, Inputs(image="i", prompt="p", prompts="abc"))
    assert "prompts" not in without, "or runs of the time before would not be found again"
    assert given == {**without, "prompts": "abc"}

"""Configs: presets, files and overrides; and which field decides what."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.guidance import GuidanceConfig
from physplan.keyframes.registry import EDITORS
from physplan.pipeline.config import Config, Inputs
from physplan.pipeline.config_loading import load_config, read_assignments, to_plain
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.stage_keys import deciding_settings, differences, setting_stages, stage_key
from physplan.reasoning.registry import REASONERS
from physplan.registry import Registry
from physplan.runs.layout import STAGES
from physplan_models.reasoning import named as reasoners

INPUTS = Inputs(image="0" * 64, prompt="a ball rolls")
RUNTIME = {
    "method",
    "runtime.encoders",
    "preset", "reasoner.base_url", "editor.base_url", "runtime.device", "runtime.offload", "runtime.tiling",
    "runtime.slicing", "runtime.checkpointing",
    "runtime.compile", "runtime.keep_encoders", "runtime.keep_models",
    "runtime.local_files_only", "runtime.budget", "runtime.prices", "runtime.offline", "runtime.timeout",
    "runtime.total_budget", "runtime.total_ledger",
    "runtime.attempts", "runtime.at_once", "runtime.threads", "runtime.allow_hosts", "reasoner.prompts",
    "video.base_url", "video.time_limit",
}  # fmt: skip


def test_every_field_is_identity_or_runtime() -> None:
    """A new field fails here until someone has thought about what it changes."""
    found = {name: stage for name, stage, _ in setting_stages(Config())}
    assert {name for name, stage in found.items() if stage is None} == RUNTIME
    assert {stage for stage in found.values() if stage} == {"plan", "keyframes", "latents"}


@pytest.mark.parametrize("name", [name for name, _, _ in setting_stages(Config())])
def test_a_field_changes_the_keys_of_its_stage_and_later_and_of_no_other(name: str) -> None:
    before, after = Config(), _changed(Config(), name)
    stage = next(stage for other, stage, _ in setting_stages(before) if other == name)
    changed = [s for s in STAGES if stage_key(before, INPUTS, s, {}) != stage_key(after, INPUTS, s, {})]
    assert changed == ([] if stage is None else list(STAGES[STAGES.index(stage) :]))


@pytest.mark.parametrize(
    ("change", "first"),
    [({"seed": 1}, "latents"), ({"method": "base"}, "latents"), ({"prompt": "a cup falls"}, "plan")],
)
def test_what_a_run_is_given_is_classed_too(change: dict[str, Any], first: str) -> None:
    other = replace(INPUTS, **change)
    changed = [s for s in STAGES if stage_key(Config(), INPUTS, s, {}) != stage_key(Config(), other, s, {})]
    assert changed == list(STAGES[STAGES.index(first) :])


def _changed(settings: Any, name: str) -> Any:
    head, _, rest = name.partition(".")
    value = getattr(settings, head)
    return replace(settings, **{head: _changed(value, rest) if rest else _other(value)})


def _other(value: Any) -> Any:
    if isinstance(value, GuidanceConfig):
        return replace(value, step_size=value.step_size + 1)
    if is_dataclass(value):
        first = fields(value)[0].name
        return replace(value, **{first: _other(getattr(value, first))})
    if isinstance(value, dict):
        return {**value, "another": 1}
    if isinstance(value, bool):
        return not value
    if isinstance(value, tuple):
        return (*value, "another")
    return f"{value}x" if isinstance(value, str | None) else value + 1


@pytest.mark.parametrize("name", presets.NAMES)
def test_a_preset_reads_back_from_what_it_writes(name: str) -> None:
    config = with_defaults(load_config(name))
    assert config.preset == name
    assert load_config(to_plain(config)) == config


def test_the_recipes_name_the_reasoners_own_models() -> None:
    assert load_config("paper").reasoner.model == reasoners.paper.model
    assert load_config("open").reasoner.model == reasoners.open_weights.model
    assert presets.PRESETS["open"].server == ("OPENAI_BASE_URL", reasoners.open_weights.url)


@pytest.mark.parametrize("suffix", ["yaml", "toml"])
def test_a_file_overrides_any_field(tmp_path: Path, suffix: str) -> None:
    text = {
        "yaml": "preset: paper\nvideo: {num_frames: 25}\nguidance:\n  measure: {threshold: 0.5}\n"
        "  schedule: {layout_steps: 2, guided_steps: 4, repeats: 3}\n",
        "toml": 'preset = "paper"\n[video]\nnum_frames = 25\n[guidance.measure]\nthreshold = 0.5\n'
        "[guidance.schedule]\nlayout_steps = 2\nguided_steps = 4\nrepeats = 3\n",
    }[suffix]
    path = tmp_path / f"mine.{suffix}"
    path.write_text(text)
    config = load_config(path)
    assert config.video.num_frames == 25
    assert config.video.model == "cogvideox-5b"
    assert config.guidance.measure.threshold == 0.5
    assert config.guidance.schedule.repeats == (3, 3, 3, 2)


def test_a_setting_by_the_name_it_had_before_still_counts() -> None:
    config = load_config({"preset": "paper", "guidance": {"draws": "frame_guidance"}})
    assert config.guidance.noise_order == "frame_guidance"


def test_another_backend_does_not_inherit_the_options_of_the_first() -> None:
    config = load_config({"preset": "paper", "perception": {"encoder": {"name": "dinov2"}}})
    assert config.perception.encoder.options == {}
    kept = load_config({"preset": "paper", "perception": {"encoder": {"options": {"long_side": 512}}}})
    assert kept.perception.encoder.options == {
        "source": "facebook/dinov3-vitb16-pretrain-lvd1689m", "long_side": 512,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"vidoe": {}}, "There is no setting vidoe. Did you mean 'video'?"),
        ({"video": {"frames": 9}}, "There is no setting video.frames. Did you mean 'num_frames'?"),
        ({"guidance": {"schedule": {"layout": 1}}}, "Did you mean 'layout_steps'?"),
        ({"video": {"num_frames": "many"}}, "video.num_frames is 'many', but must be a whole number."),
        ({"video": {"fit": "zoom"}}, "video.fit is 'zoom'. Choose one of: crop, letterbox, stretch."),
        ({"video": 3}, "video takes settings of its own, not 3."),
        ({"guidance": {"measure": {"without": ["colour"]}}}, "guidance.measure.without[0] is 'colour'."),
        ({"guidance": {"outside_weight": 7}}, "guidance.outside_weight is 7: give a number from 0 to 1."),
        ({"preset": "papr"}, "there is no preset 'papr'. Did you mean 'paper'?"),
        ({"runtime": {"budget": True}}, "runtime.budget is True, but must be a number."),
    ],
)
def test_a_wrong_field_is_named_with_the_right_one(mapping: dict[str, Any], message: str) -> None:
    with pytest.raises(PhysPlanError) as error:
        load_config(mapping)
    assert message in str(error.value)


@pytest.mark.parametrize("content", ["[", "- a\n- b", "video: [1"])
def test_files_that_hold_no_settings(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(PhysPlanError, match="bad"):
        load_config(path)


def test_a_name_that_is_no_preset_and_no_file() -> None:
    with pytest.raises(PhysPlanError, match="Did you mean 'sandbox'"):
        load_config("sandbx")
    with pytest.raises(PhysPlanError, match="cannot be read"):
        load_config("nowhere.yaml")


def test_an_unknown_video_model_is_answered() -> None:
    with pytest.raises(PhysPlanError, match="Did you mean 'cogvideox-5b'"):
        with_defaults(load_config(Config(), {"video.model": "cogvideo-5b"}))


def test_differences_are_said_in_words() -> None:
    before, now = deciding_settings(Config(), INPUTS), deciding_settings(Config(), replace(INPUTS, seed=7))
    assert differences(before, now) == ["seed 0, not 7"]


@pytest.mark.parametrize("registry", [REASONERS, EDITORS])
def test_the_registries_know_who_calls_out(registry: Registry) -> None:
    """Without loading a backend its key can be asked for; so the list must be the truth."""
    found = {name for name in registry if getattr(registry.load(name), "calls_out", None) is not None}
    assert found == registry.callers


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_settings_does_not_matter(turned: bool) -> None:
    """Each alone would be refused: exact gradients do not meet at the features."""
    entries = ["guidance.gradient=exact", "guidance.combine_at=clean", "guidance.measure.satisfied=1e-8"]
    chosen = load_config("sandbox", read_assignments(entries[::-1] if turned else entries))
    assert (chosen.guidance.gradient, chosen.guidance.combine_at) == ("exact", "clean")
    assert chosen.guidance.measure.satisfied == 1e-8


@pytest.mark.parametrize("text", ["1e-8", "1E-8", "+1e-8", "1.e-8", ".1e-7"])
def test_numbers_are_read_as_yaml_1_2_has_them(text: str) -> None:
    assert read_assignments([f"guidance.step_size={text}"]) == {"guidance.step_size": pytest.approx(1e-8)}

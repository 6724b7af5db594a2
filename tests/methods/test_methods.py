"""Methods by name: their stages, starts and guidance, their ablations, and records of version 0.1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from physplan import presets
from physplan.errors import PhysPlanError
from physplan.graph import Term
from physplan.guidance import GUIDED_SKETCH, PAPER
from physplan.methods import METHODS, find, names
from physplan.methods.records import recorded_method
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config, to_plain
from physplan.pipeline.run import refuse_void_guidance

ALL = ("plan", "keyframes", "evidence", "sketch", "latents", "video", "verdict")


def test_physplan_is_the_papers_algorithm_from_noise_in_every_preset() -> None:
    method = find("physplan")
    assert method.guidance(Config()) == PAPER
    for name in presets.NAMES:
        config = load_config(name)
        assert method.start(config) == "noise"
        assert method.guidance(config).start == "noise"  # type: ignore[union-attr]


@pytest.mark.parametrize("preset", ["best", "desk"])
def test_the_presets_that_start_from_the_sketch_share_its_settings(preset: str) -> None:
    config = load_config(preset)
    assert config.method == "guided_sketch"
    assert find(config.method).guidance(config) == GUIDED_SKETCH
    assert find(config.method).start(config) == "sketch"


def test_stages_follow_from_the_method() -> None:
    assert find("guided_sketch").stages() == ALL
    assert find("storyboard").stages() == tuple(stage for stage in ALL if stage != "latents")
    assert find("base").stages() == ("latents", "video", "verdict")
    assert find("base").stages(plan_given=True) == ("plan", "latents", "video", "verdict")


def test_an_ablation_changes_one_thing_of_the_method_it_is_named_with() -> None:
    config = replace(Config(), guidance=replace(PAPER, step_size=5.0), guided_sketch=replace(GUIDED_SKETCH))
    tuned = config.guidance
    assert find("physplan.no_regions").guidance(config) == replace(tuned, outside_weight=1.0)
    assert find("physplan.no_depth").guidance(config).measure.without == {Term.DEPTH}  # type: ignore[union-attr]
    assert find("physplan.full_graph").guidance(config) == tuned  # (ii) differs in its plan
    whole = find("physplan.whole_frame").guidance(config)
    assert find("physplan.prompt_derived").guidance(config) == whole  # (i) as well
    assert whole.losses == ("whole_frame",)  # type: ignore[union-attr]
    assert find("guided_sketch.no_keep").guidance(config).keep is False  # type: ignore[union-attr]


def test_an_ablation_alone_is_one_of_the_presets_method() -> None:
    assert find("no_depth", "guided_sketch").name == "guided_sketch.no_depth"
    assert find("no_depth", "physplan").name == "physplan.no_depth"
    assert find("no_depth", "storyboard").name == "physplan.no_depth"


def test_every_listed_name_is_found_and_no_other() -> None:
    assert [find(name).name for name in names()] == names()
    assert len(names()) == len(METHODS) + 2 * 9
    for wrong in ("physplam", "physplan.no_dept", "base.no_depth", "sketch."):
        with pytest.raises(PhysPlanError, match="There is no method"):
            find(wrong)


def test_ablations_of_the_plan_name_the_presets_own_planner() -> None:
    known = ("paper", "paper-prompt-derived", "paper-full-graph", "sandbox")
    assert find("physplan").reasoner("paper", known) == "paper"
    assert find("prompt_derived").reasoner("paper", known) == "paper-prompt-derived"
    assert find("full_graph").reasoner("paper-full-graph", known) == "paper-full-graph"  # a run continued
    with pytest.raises(PhysPlanError, match="register one as 'sandbox-full-graph'"):
        find("full_graph").reasoner("sandbox", known)


def test_settings_of_another_method_are_refused() -> None:
    changed = load_config("sandbox", {"guidance.step_size": 2})
    with pytest.raises(PhysPlanError, match=r"guidance\.\* are settings of physplan"):
        refuse_void_guidance(find("guided_sketch"), changed)
    refuse_void_guidance(find("physplan"), changed)
    refuse_void_guidance(find("sketch"), changed)


@pytest.mark.parametrize(("start", "then", "now"), [
    ("sketch", "physplan", "guided_sketch"), ("sketch", "no_depth", "guided_sketch.no_depth"),
    ("noise", "physplan", "physplan"), (None, "full_graph", "physplan.full_graph"),
    ("sketch", "base", "base"),
])  # fmt: skip
def test_a_record_of_before_says_what_it_was(start: str | None, then: str, now: str) -> None:
    guidance = {"step_size": 1.0} | ({"start": start} if start else {})
    assert recorded_method(then, {"guidance": guidance}) == now
    assert recorded_method(then, {"guidance": guidance, "guided_sketch": {}}) == then  # of today


def test_a_config_of_before_that_starts_from_the_sketch_is_guided_sketch() -> None:
    former = {
        "preset": "sandbox",
        "method": "physplan",
        "guidance": to_plain(GUIDED_SKETCH) | {"step_size": 7.0},
    }
    config = load_config(former)
    assert config.method == "guided_sketch"
    assert config.guided_sketch.step_size == 7
    assert config.guidance == load_config("sandbox").guidance
    with pytest.raises(PhysPlanError, match="--method guided_sketch starts from the sketch"):
        load_config("paper", {"guidance.start": "sketch"})

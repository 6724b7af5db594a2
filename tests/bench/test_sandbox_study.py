"""The sandbox study: what is compared, how a video is judged, how cases are summed up."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import av
import numpy as np
import pytest

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan_bench.sandbox import making
from physplan_bench.sandbox.arms import ABLATION_ARMS, Arm, arms
from physplan_bench.sandbox.benchmark import SandboxStudy, effective, make_case
from physplan_bench.sandbox.measure import bystanders, compare_with_truth, make_video
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_bench.tables import render
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.render import FRAMES
from physplan_sandbox.world.scene import DistractorChange

pytest.importorskip("cv2")


def test_arms_are_methods_with_modes_and_levels():
    found = arms("base", "guided_sketch", levels=(0, 2))
    assert [arm.label for arm in found] == ["base", "guided_sketch @ level 0", "guided_sketch @ level 2"]
    config = SandboxStudy.of_preset().config
    assert Arm(name="physplan:exact").guidance(config).gradient == "exact"
    assert Arm(name="guided_sketch.no_regions").guidance(config).outside_weight == 1.0
    assert [arm.plan for arm in ABLATION_ARMS] == ["words", "reparsed", *["graph"] * 8]
    assert Arm(name="physplan.prompt_derived").guidance(config).losses == ("whole_frame",)


@pytest.mark.parametrize(
    "name", ["physplann", "base:exact", "sketch:exact", "physplan:slow", "physplan:whole", "storyboard:3"]
)
def test_an_unknown_arm_is_refused_with_what_there_is(name):
    with pytest.raises(PhysPlanError, match=r"physplan|sketch|storyboard"):
        Arm(name=name)


def test_a_number_behind_a_method_is_how_many_videos_there_may_be():
    assert [Arm(name=name).tries for name in ("sketch", "sketch:3", "best_of_n", "best_of_n:5")] == [
        1,
        3,
        3,
        5,
    ]
    assert not Arm(name="best_of_n").until_it_holds
    assert Arm(name="physplan:exact:2").tries == 2


class Verdicts:
    """Videos that are their seed, and what is said of them, in order."""

    def __init__(self, monkeypatch, *said):
        self.made, said = [], iter(said)
        monkeypatch.setattr(
            making, "make_video", lambda here, arm, seed: self.made.append((arm.name, seed)) or seed
        )
        answers = {"holds": 0.9, "doubtful": 0.4, "fails": 0.1}

        def verdict_on(here, arm, video):
            word = next(said)
            return SimpleNamespace(verdict=word, score=answers[word])

        monkeypatch.setattr(making, "verdict_on", verdict_on)


def test_attempts_end_when_the_verdict_holds_and_begin_with_the_seed_itself(monkeypatch):
    seen = Verdicts(monkeypatch, "fails", "holds", "holds")
    found = making.make_attempts(None, Arm(name="sketch:3"), seed=1)
    assert seen.made == [("sketch:3", 1), ("sketch:3", 1 + making.NEXT_SEED)]
    assert [attempt.verdict.verdict for attempt in found] == ["fails", "holds"]


def test_best_of_n_makes_all_n_without_guidance_and_the_best_is_kept(monkeypatch):
    seen = Verdicts(monkeypatch, "fails", "holds", "doubtful")
    found = making.make_attempts(None, Arm(name="best_of_n:3", level=2), seed=0)
    assert [name for name, _ in seen.made] == ["base"] * 3
    assert making.best(found).verdict.verdict == "holds"


def test_the_storyboard_has_one_video_for_all_seeds():
    study = SandboxStudy.of_preset(scenes=1, seeds=3, arms=arms("storyboard", "sketch"))
    names = [case.identity["seed"] for arm, case in study.parts if arm.name == "storyboard"]
    assert names == [0, 0, 0]
    assert len(study.cases()) == 2 + 1 + 3  # two takes of the truth


def test_what_changes_a_video_changes_its_case_and_nothing_else_does():
    study = SandboxStudy.of_preset()
    other = SandboxStudy.of_preset({"guided_sketch.step_size": 1.25})
    faster = SandboxStudy.of_preset({"runtime.threads": 2})
    physplan, base = Arm(name="guided_sketch"), Arm(name="base")
    assert make_case(study, 400, physplan, 0).key != make_case(other, 400, physplan, 0).key
    assert make_case(study, 400, base, 0).key == make_case(other, 400, base, 0).key
    assert make_case(study, 400, physplan, 0).key == make_case(faster, 400, physplan, 0).key
    keys = {make_case(study, 400, arm, 0).key for arm in arms("frame_guidance", levels=(0, 1, 2, 3))}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"editor.name": "gemini"}, "--levels"),
        ({"editor.options": {"level": 2}}, "--levels"),
        ({"reasoner.name": "paper"}, "the sandbox's rules"),
        ({"video.num_frames": 9}, f"true videos of {FRAMES} frames of 96 x 96"),
    ],
)
def test_what_a_study_cannot_honour_it_refuses(changes, words):
    with pytest.raises(PhysPlanError, match=words):
        SandboxStudy.of_preset(changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"video.source": "/nowhere"}, "nowhere"),
        ({"perception.encoder": {"name": "dinov2", "options": {"source": "/nowhere"}}}, "nowhere"),
        ({"perception.depth": {"name": "depth-anything-v2", "options": {"source": "/nowhere"}}}, "nowhere"),
        ({"reasoner.max_events": 1}, "events"),
    ],
)
def test_every_other_setting_counts(changes, words):
    """Each leads to a sentence about what it names, so it was used."""
    config = SandboxStudy.of_preset(changes).config
    here = PreparedScene(scene=scene("validation", 4, phenomenon="ice", variant="tray"), config=config)
    with pytest.raises(PhysPlanError, match=words):
        make_video(here, Arm(name="guided_sketch"), seed=0)


def test_leaving_out_a_term_that_no_event_selects_needs_no_video_of_its_own():
    quick = {"video.num_inference_steps": 2, "guided_sketch.schedule": {"repeats": [1], "travel": [1, 1]}}
    compared = arms("guided_sketch", "no_extent", "no_position")
    study = SandboxStudy.of_preset(quick, scenes=1, seeds=1, arms=compared)
    here = PreparedScene(scene=scene(study.split, study.first), config=study.config)
    assert "position" in here.terms
    assert "extent" not in here.terms  # a ball falls
    drawn = [case.identity["arm"] for case in study.cases() if case not in study.reference]
    assert drawn == ["guided_sketch", "guided_sketch.no_position"]
    assert [case.identity["arm"] for _, case in study.parts] == [
        "guided_sketch",
        "guided_sketch",
        "guided_sketch.no_position",
    ]
    videos = [make_video(here, arm, seed=0) for arm in study.arms]
    assert np.array_equal(videos[0], videos[1])
    assert effective(Arm(name="guided_sketch.no_extent:exact", level=2), here) == Arm(
        name="guided_sketch:exact", level=2
    )


def test_the_truth_is_plausible_preserved_and_scores_near_100():
    shown = scene("validation", 20)
    truth = shown.render()
    found = compare_with_truth(shown, truth, truth.frames)
    assert found["plausible"]
    assert found["preserved"]
    assert all(event in (True, None) for event in found["events"])
    assert found["metrics"]["spatial"] == 1.0
    assert found["centroid_error"] is None or found["centroid_error"] < 0.03
    assert found["flicker"][0] == found["flicker"][1]


def test_an_implausible_outcome_is_seen_as_such():
    shown = scene("validation", 20)
    other = next(o for o in shown.outcomes if o != shown.plausible)
    found = compare_with_truth(shown, shown.render(), shown.render(other).frames)
    assert not found["plausible"]
    assert found["outcome"] == other
    assert False in found["events"]


def test_a_changed_bystander_is_not_preserved():
    shown = next(s for i in range(50) if len((s := scene("validation", i)).distractors) > 1)
    key = next(iter(shown.distractors))
    assert key in bystanders(shown, shown.render())
    changed = shown.render(change=DistractorChange(target=key, kind="vanish")).frames
    assert not compare_with_truth(shown, shown.render(), changed)["preserved"]


def test_a_study_sums_up_shares_with_intervals_over_scenes(tmp_path):
    study = replace(SandboxStudy.of_preset(), scenes=2, seeds=2, arms=arms("base", "guided_sketch"))
    shown = scene("test", 400)
    truth = compare_with_truth(shown, shown.render(), shown.render().frames)
    results = {}
    for arm, case in study.parts:
        good = arm.name == "guided_sketch" or case.identity["scene"] == study.first
        said = {"verdict": "holds" if good else "fails", "score": float(good), "attempts": 2 - good}
        results[case.name] = {**truth, **said, "plausible": good, "domain": "optics", "seconds": 1.0}
    results |= {case.name: truth for case in study.reference}
    summary = study.summarise(results, tmp_path)
    assert summary["verdicts"]["together"]["area_under_curve"]["value"] == 1.0
    rows = summary["arms"]
    assert rows["guided_sketch"]["plausible"]["value"] == 100.0
    assert rows["base"]["plausible"]["value"] == 50.0
    # One of two scenes: the exact interval, where resampling two scenes would say nothing.
    assert rows["base"]["plausible"]["low"] == pytest.approx(1.26, abs=0.01)
    assert rows["base"]["attempts"]["low"] is None
    beside = rows["base"]["beside_proposed"]
    assert beside["plausible"]["value"] == beside["plausible_and_preserved"]["value"] == -50.0
    assert (beside["won"], beside["lost"], beside["same"]) == (0, 2, 2)
    assert rows["base"]["rest_changed"]["value"] == pytest.approx(0, abs=1)  # the truth leaves it alone
    assert beside["rest_changed"]["value"] == 0.0
    assert rows["guided_sketch"]["physics_iq"]["value"] > 90
    assert rows["base"]["domains"] == {"optics": 50.0}
    assert rows["base"]["attempts"]["value"] == 1.5
    assert rows["base"]["frechet"]["encoder"]["value"] == pytest.approx(0, abs=1e-6)  # all are the truth
    assert rows["base"]["flicker"]["value"] == rows["base"]["edges"]["value"] == 100.0
    table = study.table({**study.summarise(results, tmp_path), "benchmark": "sandbox"}, "").with_reported()
    assert [row.source for row in table.rows[-2:]] == ["", ""]
    assert "PhysPlan, real videos" in [row.label for row in table.rows]


def test_without_guided_sketch_methods_are_compared_with_physplan_level_by_level(tmp_path):
    two = arms("physplan", "frame_guidance", levels=(1, 3))
    study = replace(SandboxStudy.of_preset(), scenes=2, seeds=1, arms=two)
    shown = scene("test", 400)
    truth = compare_with_truth(shown, shown.render(), shown.render().frames)
    results = {case.name: truth for case in study.reference}
    for arm, case in study.parts:
        good = arm.name == "physplan" or arm.level == 1
        said = {"verdict": "holds", "score": float(good), "attempts": 1, "cpu_seconds": 2.0, "seconds": 9.0}
        results[case.name] = {**truth, **said, "plausible": good, "domain": "optics"}
    summary = study.summarise(results, tmp_path)
    beside = {label: row.get("beside_proposed") for label, row in summary["arms"].items()}
    assert beside["frame_guidance"]["lost"] == 0
    assert beside["frame_guidance @ level 3"]["lost"] == 2
    assert beside["physplan"] is None
    judged = summary["verdicts"]
    assert set(judged) == {"together", *(arm.label for arm in two)}
    assert judged["together"]["videos"] == 8
    printed = render(study.table({**summary, "benchmark": "sandbox"}, ""), "markdown")
    assert "less physplan" in printed
    assert "CPU s" in printed


def test_the_command_prints_a_table_draws_a_plot_and_keeps_what_is_done(tmp_path, capsys):
    quick = ["--set", "video.num_inference_steps=2", "--set"]
    schedule = "guided_sketch.schedule={layout_steps: 1, guided_steps: 1, repeats: 1}"
    frames = ["--set", "frame_guidance.schedule={repeats: [1], travel: [0, 0]}"]
    command = ["evaluate", "sandbox", "--scenes", "1", "--seeds", "1", "--split", "validation"]
    command += [*quick, schedule, *frames, "-o", str(tmp_path / "s.json"), "--plot", str(tmp_path / "s.png")]
    assert main([*command, "--keep-videos"]) == 0
    printed = capsys.readouterr().out
    words = (
        "base",
        "frame_guidance",
        "sketch",
        "guided_sketch",
        "Plausible",
        "won : lost",
        "Centroid",
        "Flicker",
    )
    assert all(word in printed for word in words)
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("s.png",))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s.cases").rglob("result.json")}
    assert len(before) == 4 + 2  # and two takes of the truth
    for result in before:  # videos that play, in any browser
        with av.open(str(result.with_name("video.mp4"))) as video:
            stream = video.streams.video[0]
            assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
            assert len(list(video.decode(stream))) == FRAMES
    assert main(command) == 0
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "s.cases").rglob("result.json")}


def test_a_wrong_field_gets_one_sentence(capsys):
    assert main(["evaluate", "sandbox", "--set", "guided_sketch.step_sise=1"]) != 0
    assert "step_size" in capsys.readouterr().err


def test_levels_are_for_guided_methods(capsys):
    assert main(["evaluate", "sandbox", "--methods", "base", "--levels", "0"]) != 0
    assert "--levels" in capsys.readouterr().err


def test_the_physics_iq_formula_is_the_benchmarks():
    shown = scene("validation", 0)
    truth = shown.render()
    still = np.repeat(truth.frames[:1], len(truth.frames), axis=0)
    found = compare_with_truth(shown, truth, still)
    assert found["metrics"]["spatial"] == 0.0
    assert found["variance"]["spatial"] > 0.5

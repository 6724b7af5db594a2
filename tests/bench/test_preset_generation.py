"""Videos for a benchmark made with the sandbox preset: real runs, resumed, with its names and length."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import signal
from pathlib import Path

import pytest
from PIL import Image

from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError
from physplan.graph import EventChain, Node, PhysicalDelta, StateChange, StateGraph, Update
from physplan.pipeline.planning import within
from physplan.reasoning.templates import PromptSet
from physplan.video.files import read_video
from physplan_bench.cost import read_runs
from physplan_bench.event_count import event_settings
from physplan_bench.preset_generator import use_preset
from physplan_bench.shared_budget import open_total, total_settings
from physplan_bench.videos import probe
from physplan_testing.ice import PROMPT, ice_on_a_tray
from physplan_testing.loopback import Answer, GeminiServer

STEPS = ("--set", "video.num_inference_steps=2")
SLOW = (*STEPS, "--set", "video.fps=5", "--fps", 8)  # 33 frames in 6.6 s, shown at the benchmark's 8 FPS


def write_physics_iq(root: Path, frames: Path, *, name: str = "{i:04d}_perspective-left_scene.mp4") -> Path:
    """descriptions.csv of 198 rows about the ice scene, and their switch frames."""
    frames.mkdir(parents=True)
    ice_on_a_tray().save(frames / "0001_switch-frames_anyFPS_perspective-left_s1.png")
    for i in range(2, 199):
        (frames / f"{i:04d}_switch-frames_anyFPS_perspective-left_s{i}.png").symlink_to(
            "0001_switch-frames_anyFPS_perspective-left_s1.png"
        )
    with (root / "descriptions.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("scenario", "description", "category", "generated_video_name"))
        for i in range(1, 199):
            scenario = f"{i:04d}_perspective-left_take-1_s{i}.mp4"
            rows.writerow((scenario, PROMPT, "Thermodynamics", name.format(i=i)))
    return root / "descriptions.csv"


@pytest.fixture
def physics_iq(tmp_path: Path, evaluate_command):
    """`physplan evaluate physics-iq --generate ...` on two of 198 cases, into a folder of videos."""
    descriptions = write_physics_iq(tmp_path, tmp_path / "bench" / "switch-frames")

    def call(*arguments: object, videos: str = "videos", shard: str = "1/99"):
        given = (
            "--real",
            tmp_path / "bench",
            "--descriptions",
            descriptions,
            "--generated",
            tmp_path / videos,
        )
        return evaluate_command("physics-iq", *given, "--shard", shard, *arguments)

    return call


def test_physics_iqs_videos_have_its_names_rate_and_length(physics_iq, tmp_path: Path) -> None:
    code, _, err = physics_iq("--generate", "sandbox", "--method", "base", *SLOW)
    assert code == 0, err
    assert "2 of 198 videos" in err
    videos = sorted((tmp_path / "videos").glob("*.mp4"))
    assert [path.name[:5] for path in videos] == ["0001_", "0100_"]
    for path in videos:
        info = probe(path)
        assert (info.frames, info.fps, info.width, info.height) == (40, 8, 96, 96)
        assert info.seconds == pytest.approx(5, abs=0.001)
        assert read_video(path).metadata["prompt"] == PROMPT
    record = json.loads((tmp_path / "videos" / "generation.json").read_text())
    assert record["settings"]["generator"] == "sandbox base"
    assert record["settings"]["settings"]["video.num_inference_steps"] == 2
    runs = read_runs([tmp_path / "videos.cases"])  # what `evaluate cost` and `failures` read
    assert [(run.method, run.events) for run in runs] == [("base", 0)] * 2
    assert all(stage.peak_memory_bytes > 10**8 for run in runs for stage in run.stages.values())


def test_a_rerun_goes_on_in_the_runs_it_finds(physics_iq, tmp_path: Path) -> None:
    arguments = ("--generate", "sandbox", "--method", "base", *SLOW)
    assert physics_iq(*arguments, shard="1/198")[0] == 0
    (case,) = (tmp_path / "videos.cases" / "cases").glob("0001-*")
    for name in ("result.json", "video.mp4", "run/stages/video.json"):  # as when killed while decoding
        (case / name).unlink()
    assert physics_iq(*arguments, shard="1/198")[0] == 0
    log = (case / "run" / "log.txt").read_text()
    assert (log.count("latents: started"), log.count("video: started")) == (1, 2)
    assert len(list((tmp_path / "videos").glob("0001_*.mp4"))) == 1


def test_a_folder_with_videos_made_otherwise_is_left_alone(physics_iq, tmp_path: Path) -> None:
    arguments = ("--generate", "sandbox", "--method", "base", *SLOW)
    assert physics_iq(*arguments, shard="1/198")[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "videos").iterdir()}
    code, _, err = physics_iq(*arguments, "--seed", 1, shard="1/198")
    assert code == 2
    assert "holds videos made with other settings (seed 0, not 1)" in err
    code, _, err = physics_iq(*arguments, "--set", "video.guidance_scale=2.0", shard="1/198")
    assert "video.guidance_scale 1.0, not 2.0" in err
    assert {path: path.read_bytes() for path in (tmp_path / "videos").iterdir()} == before


def test_videos_of_someone_else_are_not_overwritten(physics_iq, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "0042_perspective-left_scene.mp4").write_bytes(b"mine")
    code, _, err = physics_iq("--generate", "sandbox", "--method", "base", *SLOW)
    assert code == 2
    assert "0042_perspective-left_scene.mp4 was not made by this command" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--generate", "sandbox"), "33 frames at 8 a second, 4.12 s, but 5 s are wanted: ask for 40 frames"),
        (
            ("--generate", "sandbox", "--method", "base", *SLOW[:-1], 7.5),
            "no whole number of frames: choose another rate",
        ),
        (("--generate", "sandbox", "--method", "base", *SLOW[:-1], 0), "--fps 0: give a number of frames"),
        (("--generate", "sandbox", "--method", "bse", *SLOW), "There is no method 'bse'"),
        (("--generate", "sandboks"), "There is no preset 'sandboks'"),
        (
            ("--generate", "sandbox", "--method", "base", *SLOW, "--set", "editor.name=nobody"),
            "no keyframe editor called 'nobody'",
        ),
        (("--generate", "sandbox", "--set", "video.frames=3"), "There is no setting video.frames"),
        (("--generate", "sandbox", "--set", "video.fit=crop"), "Give --fit instead"),
        (
            ("--generate", "my:model", "--method", "base"),
            "--method, --set, --budget and --events are for presets",
        ),
        (("--generate-only",), "--generate-only needs --generate"),
    ],
)
def test_what_no_case_could_do_is_refused_before_the_first(physics_iq, tmp_path, arguments, message) -> None:
    code, _, err = physics_iq(*arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "videos").exists()


def test_names_that_the_score_would_not_find_are_refused(tmp_path: Path, evaluate_command) -> None:
    descriptions = write_physics_iq(tmp_path, tmp_path / "frames", name="../{i:04d}_scene.mp4")
    arguments = ("--descriptions", descriptions, "--generated", tmp_path / "v", "--generate", "sandbox")
    code, _, err = evaluate_command(
        "physics-iq", *arguments, "--switch-frames", tmp_path / "frames", "--generate-only"
    )
    assert code == 2
    assert "the video of 0001 is called '../0001_scene.mp4', not 0001_*.mp4" in err


def test_a_prompt_that_cannot_be_planned_fails_alone_and_is_named(tmp_path: Path, evaluate_command) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "prompts.json").write_text(
        json.dumps([{"caption": PROMPT}, {"caption": "two bishops play the organ"}])
    )
    (tmp_path / "frames").mkdir()
    for n in (1, 2):
        ice_on_a_tray().save(tmp_path / "frames" / f"first_frame_{n}.png")
    schedule = "guided_sketch.schedule={layout_steps: 1, guided_steps: 1, repeats: 1}"
    folders = ("--data", tmp_path / "data", "--first-frames", tmp_path / "frames", "--videos", tmp_path / "v")
    code, _, err = evaluate_command(
        "phygenbench", *folders, "--generate", "sandbox", *STEPS, "--set", schedule
    )
    assert code == 2
    assert "1 of 2 cases failed, the first, 002, with:" in err
    assert "Traceback" not in err
    info = probe(tmp_path / "v" / "output_video_1.mp4")
    assert (info.frames, info.fps) == (33, 8)
    (run,) = read_runs([tmp_path / "v.cases"])
    assert run.method == "guided_sketch"
    assert run.events > 0


def test_one_budget_holds_for_all_videos(tmp_path: Path, evaluate_command, monkeypatch) -> None:
    """The second video is refused for what the first has paid, and nothing is paid twice."""
    (tmp_path / "data").mkdir()
    prompts = [{"caption": PROMPT}, {"caption": f"{PROMPT} today"}]
    (tmp_path / "data" / "prompts.json").write_text(json.dumps(prompts))
    (tmp_path / "frames").mkdir()
    for n in (1, 2):
        ice_on_a_tray().save(tmp_path / "frames" / f"first_frame_{n}.png")
    command = ("phygenbench", "--data", tmp_path / "data", "--first-frames", tmp_path / "frames")
    command += ("--videos", tmp_path / "v", "--generate", "sandbox", *STEPS)
    command += ("--set", "guided_sketch.schedule={layout_steps: 1, guided_steps: 1, repeats: 1}")

    def refuse(asked):  # planning fails after its first, dear answer
        return Answer(text="no", tokens=(1000, 16_000), finish="refused")

    with GeminiServer(refuse) as server:
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        command += ("--set", "reasoner.name=paper", "--set", f"reasoner.base_url={server.url}")
        code, _, err = evaluate_command(*command, "--budget", 0.1)
        assert code == 2, err
        asked = len(server.asked)
        spent = Ledger(tmp_path / "v.cases" / "ledger.jsonl").totals().usd
        runs = [
            Ledger(path).totals().usd
            for path in (tmp_path / "v.cases").glob("cases/*/run/calls/ledger.jsonl")
        ]
        assert 0.04 < spent <= 0.1, err
        assert sum(runs) == pytest.approx(spent)
        assert sorted(runs)[0] == 0  # the second made no call
        code, _, err = evaluate_command(*command, "--budget", spent)
        assert f"The budget of {spent:.4f} USD stops before the next call" in err
        assert len(server.asked) == asked


def test_the_money_of_runs_from_before_there_was_a_total_is_taken_over_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ledger = Ledger(tmp_path / "cases" / name / "run" / "calls" / "ledger.jsonl")
        call = {"key": name, "purpose": "plan", "provider": "gemini", "model": "m", "attempt": 1}
        ledger.end(ledger.begin(**call, worst_usd=0.5), outcome="answered", usd=0.25)
    assert open_total(tmp_path).totals().usd == 0.5
    assert open_total(tmp_path).totals().usd == 0.5


def test_a_kill_while_the_money_is_taken_over_leaves_no_total_below_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "cases" / "a" / "run" / "calls" / "ledger.jsonl")
    ledger.begin(key="a", purpose="plan", provider="gemini", model="m", attempt=1, worst_usd=0.5)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", lambda self, target: os.kill(os.getpid(), signal.SIGKILL))
        if (child := os.fork()) == 0:
            open_total(tmp_path)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert not (tmp_path / "ledger.jsonl").exists()
    assert open_total(tmp_path).totals().usd == 0.5


def test_a_worker_that_does_not_see_the_common_ledger_makes_no_video(tmp_path: Path) -> None:
    changes = {"video.num_inference_steps": 10, **total_settings(tmp_path / "elsewhere", 1.0)}
    make_generator = use_preset("sandbox", method="base", overrides=changes)[0]
    with pytest.raises(PhysPlanError, match="is not to be seen from this worker"):
        make_generator()


def test_from_prompts_to_first_frames_to_videos(tmp_path: Path, evaluate_command, monkeypatch) -> None:
    (tmp_path / "data").mkdir()
    captions = [PROMPT, "an ice cube melting"]
    (tmp_path / "data" / "prompts.json").write_text(json.dumps([{"caption": text} for text in captions]))
    encoded = io.BytesIO()
    ice_on_a_tray().resize((192, 128), Image.Resampling.LANCZOS).save(encoded, "PNG")
    folders = ("--data", tmp_path / "data", "--first-frames", tmp_path / "frames", "--videos", tmp_path / "v")
    with GeminiServer(lambda asked: Answer(images=(encoded.getvalue(),))) as server:
        monkeypatch.setenv("GEMINI_API_KEY", server.key)
        for part in ("1/2", "2/2"):  # the second finds all first frames drawn
            code, _, err = evaluate_command(
                "phygenbench", *folders, "--image-model", f"painter@{server.url}",
                "--generate", "sandbox", "--method", "base", *STEPS, "--shard", part,
            )  # fmt: skip
            assert code == 0, err
        assert len(server.asked) == 2
    for n in (1, 2):
        info = probe(tmp_path / "v" / f"output_video_{n}.mp4")
        assert info.width / info.height == pytest.approx(
            1.5, rel=0.03
        )  # the picture's shape, not the model's


def test_only_what_decides_a_video_is_part_of_its_identity() -> None:
    quick = {"video.num_inference_steps": 10}  # as many as the schedule needs, or more
    plain = use_preset("sandbox", method="base", overrides=quick)[1]
    cheaper = {**quick, "runtime.budget": 1.0, "runtime.threads": 2}
    assert use_preset("sandbox", method="base", overrides=cheaper)[1] == plain
    other = use_preset("sandbox", method="base", overrides={**quick, "video.guidance_scale": 2.0})[1]
    assert other != plain
    assert use_preset("sandbox", method="base", overrides=quick, fit="letterbox")[1] != plain


def test_a_preset_with_another_size_is_asked_for_by_height_and_width() -> None:
    settings = use_preset("paper", size=(480, 480), seconds=5)[1].settings
    assert (settings["video.height"], settings["video.width"], settings["video.fit"]) == (480, 480, "stretch")
    with pytest.raises(PhysPlanError, match="slower ones"):
        use_preset("paper", overrides={"video.model": "svd-xt", "video.num_inference_steps": 50}, seconds=5)


def test_a_presets_generator_can_be_sent_to_a_worker() -> None:
    make_generator = use_preset("sandbox", method="base")[0]
    config, method, _ = pickle.loads(pickle.dumps(make_generator)).args
    assert (config.preset, config.video.fit, method) == ("sandbox", "stretch", "base")


def test_several_methods_share_plan_keyframes_and_evidence_of_a_case(physics_iq, tmp_path: Path) -> None:
    methods = ("base", "frame_guidance", "sketch")
    once = "schedule={repeats: [1], travel: [0, -1]}"
    short = ("--set", f"frame_guidance.{once}", "--set", f"guided_sketch.{once}")
    made = ("--generate", "sandbox", "--methods", *methods, *SLOW, *short)
    code, _, err = physics_iq(*made, videos="arms", shard="1/198")
    assert code == 0, err
    arms = tmp_path / "arms"
    assert {path.parent.name for path in arms.glob("*/*.mp4")} == set(methods)
    (shared,) = [path for path in (arms / "shared").iterdir() if path.is_dir()]
    for method in methods[1:]:
        (run,) = (arms / f"{method}.cases" / "cases").glob("0001-*/run")
        for name in (
            "plan.json",
            "keyframes.json",
            "evidence.json",
        ):  # adopted: with the time they took there
            assert (run / "stages" / name).read_bytes() == (shared / "stages" / name).read_bytes()
        assert json.loads((run / "plan.json").read_text())["num_frames"] == 33


def test_a_plan_ends_where_the_scored_frames_end() -> None:
    _, config = use_preset("paper", method="base", seconds=5.0)  # the first 40 of 49 frames
    assert config.settings["reasoner.until"] == pytest.approx(39 / 48)
    _, whole = use_preset("paper", method="base")
    assert "reasoner.until" not in whole.settings


def test_events_within_a_share_of_the_video_keep_their_order_and_end_there() -> None:
    chain = EventChain.build(
        prompt=PROMPT,
        num_frames=49,
        graph=StateGraph([Node("ice#1", "ice")], []),
        deltas=[PhysicalDelta((StateChange("ice#1", state, "it melts"),), 0.5) for state in ("wet", "slush")],
        edits=[[Update("ice#1", "surface", "wet")], [Update("ice#1", "material_phase", "slush")]],
    )
    ended = within(chain, 0.5)
    last = (chain.num_frames - 1) / 2
    assert max(ended.anchors) <= last + 0.5
    assert list(ended.anchors) == sorted(set(ended.anchors))
    assert [e.edits for e in ended.events] == [e.edits for e in chain.events]


def test_plans_of_five_events_are_asked_for_in_the_prompts(tmp_path: Path, evaluate_command) -> None:
    wanted = event_settings(5, tmp_path, {})
    prompts = PromptSet.read(wanted["reasoner.prompts"])
    asked = prompts.instructions("decompose", max_events=wanted["reasoner.max_events"])
    assert "Exactly 5 events." in asked
    assert "usually two to four" not in asked
    assert "exactly 5." in prompts.instructions("scenes", max_events=5)
    assert prompts.texts["parse"] == PromptSet.read(None).texts["parse"]
    with pytest.raises(PhysPlanError, match="1 to 7"):
        event_settings(8, tmp_path, {})
    with pytest.raises(PhysPlanError, match="leave out --set reasoner"):
        event_settings(5, tmp_path, {"reasoner.max_events": 3})
    command = ("phygenbench", "--data", tmp_path, "--first-frames", tmp_path, "--videos", tmp_path / "v")
    (tmp_path / "prompts.json").write_text(json.dumps([{"caption": PROMPT}]))
    ice_on_a_tray().save(tmp_path / "first_frame_1.png")
    code, _, err = evaluate_command(*command, "--generate", "sandbox", "--method", "base", "--events", 5)
    assert code == 2
    assert "asks no model" in err
    assert "Traceback" not in err

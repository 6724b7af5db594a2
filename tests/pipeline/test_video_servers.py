"""`video.model: server` from end to end, against loopback servers that speak the four dialects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.pipeline import tiny_pipelines

from physplan import PhysPlan
from physplan.calls.ledger import Ledger
from physplan.errors import PhysPlanError
from physplan.pipeline.result import Result
from physplan.runs import layout
from physplan.video.files import read_video
from physplan_testing.loopback import GeminiServer
from physplan_testing.video_servers import (
    SERVERS,
    GeminiVideoServer,
    Job,
    OpenRouterServer,
    VideoServer,
    VllmOmniServer,
)

MODELS = {
    "vllm_omni": "MiniMaxAI/MiniMax-H3",
    "sglang": "Wan-AI/Wan2.2-TI2V-5B",
    "openrouter": OpenRouterServer.model,
    "gemini": "veo-3.1-fast-generate-preview",
}
KEYS = ("VIDEO_SERVER_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY")
PROMPT = "someone lets go of the ball"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, VideoServer.key)


@pytest.fixture
def picture() -> Image.Image:
    from physplan_sandbox import samples

    return samples.first_frame(samples.sample("drop"))


def settings_of(server: VideoServer, dialect: str) -> dict[str, Any]:
    video = {"model": "server", "dialect": dialect, "source": MODELS[dialect], "base_url": server.url}
    video |= {"width": 96, "height": 96, "num_frames": 17, "fps": 8}
    return {f"video.{name}": value for name, value in video.items()} | {"runtime.attempts": 2}


def served(server: VideoServer, dialect: str, **more: Any) -> PhysPlan:
    return PhysPlan.from_preset("sandbox", **settings_of(server, dialect) | more)


def entries(folder: Path) -> list[Any]:
    return list(Ledger(folder / "calls" / "ledger.jsonl").entries())


def notes(folder: Path) -> str:
    return json.dumps(json.loads((folder / layout.record("video")).read_text("utf-8"))["notes"])


@pytest.mark.parametrize("dialect", SERVERS)
def test_base_comes_from_a_server_of_every_dialect(
    dialect: str, tmp_path: Path, picture: Image.Image
) -> None:
    with SERVERS[dialect]() as server:
        pp = served(server, dialect)
        result: Result = pp.generate(picture, PROMPT, method="base", seed=3, output_dir=tmp_path / "run")
        assert server.submitted == 1
        assert set(server.seen_keys) == {VideoServer.key}
    assert result.video.shape == (17, 3, 96, 96)
    made = read_video(tmp_path / "run" / layout.EXACT_VIDEO)
    assert (len(made.frames), made.fps) == (17, 8)
    first = picture.resize((96, 96)).convert("RGB")
    shown = made.frames[0].mul(255).byte().permute(1, 2, 0).numpy()
    assert abs(shown.astype(float) - np.asarray(first)).mean() < 12  # an mp4 of it
    (entry,) = entries(tmp_path / "run")
    assert (entry.purpose, entry.outcome) == ("video", "answered")
    assert not list((tmp_path / "run" / "calls" / "video-jobs").glob("*.json"))
    cut_out = "96 x 96 are cut out" in notes(tmp_path / "run")
    assert cut_out == (dialect in ("openrouter", "gemini"))
    # replay: without the server and without calls
    again = served(server, dialect, **{"runtime.offline": True})
    (tmp_path / "run" / layout.EXACT_VIDEO).unlink()
    replayed = again.generate(picture, PROMPT, method="base", seed=3, output_dir=tmp_path / "run", redo=True)
    assert (replayed.video == result.video).all()


@pytest.mark.parametrize("dialect", ["vllm_omni", "openrouter", "gemini"])
def test_conditioned_is_a_chain_of_videos_joined_at_the_keyframes(
    dialect: str, tmp_path: Path, picture: Image.Image
) -> None:
    with SERVERS[dialect]() as server:
        folder = tmp_path / "run"
        result = served(server, dialect).generate(picture, PROMPT, method="conditioned", output_dir=folder)
        events = len(result.plan.events)
        ends = int(result.plan.anchors[-1] < 16)
        assert len(server.jobs) == events + ends
        assert [job.last is not None for job in server.jobs.values()] == [True] * events + [False] * ends
    assert result.video.shape == (17, 3, 96, 96)
    for anchor, keyframe in zip(result.plan.anchors, result.keyframes, strict=True):
        wanted = np.asarray(keyframe.convert("RGB")).astype(float)
        shown = result.video[anchor].mul(255).permute(1, 2, 0).numpy()
        assert abs(shown - wanted).mean() < 12
    assert "joined at the keyframes" in notes(folder)


def test_a_part_that_is_longer_than_any_video_of_the_server_is_slowed_down(
    tmp_path: Path, picture: Image.Image
) -> None:
    long = {"video.num_frames": 97, "video.fps": 8}  # 12 s, and the longest are 5
    with OpenRouterServer() as server:
        pp = served(server, "openrouter", **long)
        result = pp.generate(picture, PROMPT, method="conditioned", output_dir=tmp_path / "run")
    assert len(result.video) == 97
    assert "slowed down to fill" in notes(tmp_path / "run")


def test_the_sketch_goes_to_vllm_omni_with_a_noise_mask(tmp_path: Path, picture: Image.Image) -> None:
    with VllmOmniServer() as server:
        served(server, "vllm_omni").generate(picture, PROMPT, method="sketch", output_dir=tmp_path / "run")
        (job,) = server.jobs.values()
    mask = json.loads(job.asked["video_noise_mask"][0])
    assert (len(mask), len(mask[0]), len(mask[0][0])) == (17, 6, 6)
    assert len({value for frame in mask for row in frame for value in row}) == 2
    (tmp_path / "sent.mp4").write_bytes(job.asked["source_video"][0])
    assert len(read_video(tmp_path / "sent.mp4").frames) == 17


@pytest.mark.parametrize(
    ("dialect", "given", "words"),
    [
        ("sglang", {"method": "conditioned"}, "takes no last frame"),
        ("sglang", {"method": "sketch"}, "noise mask"),
        ("openrouter", {"method": "sketch"}, "noise mask"),
        ("vllm_omni", {"method": "physplan"}, "needs gradients"),
        ("vllm_omni", {"method": "base", "attempts": 2}, "another paid video"),
        ("openrouter", {"method": "base", "num_frames": 81}, "at most 5 s"),
    ],
)
def test_what_a_server_cannot_do_is_refused_before_anything_is_paid(
    dialect: str, given: dict[str, Any], words: str, tmp_path: Path, picture: Image.Image
) -> None:
    with SERVERS[dialect]() as server, pytest.raises(PhysPlanError, match=words):
        served(server, dialect).generate(picture, PROMPT, output_dir=tmp_path / "run", **given)
    assert server.submitted == 0
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("dialect", SERVERS)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("failed", "out of memory on the card"),
        ("broken", "is no video"),
        ("redirect", "not followed"),
        ("vanished", "does not know its own job"),
    ],
)
def test_a_fault_is_one_sentence_and_its_job_is_forgotten(
    dialect: str, fault: str, words: str, tmp_path: Path, picture: Image.Image
) -> None:
    with SERVERS[dialect](fault=fault) as server, pytest.raises(PhysPlanError, match=words):
        served(server, dialect).generate(picture, PROMPT, method="base", output_dir=tmp_path / "run")
    assert not list((tmp_path / "run" / "calls").glob("video-jobs/*.json"))
    assert VideoServer.key not in "".join(
        path.read_text("utf-8", "replace") for path in (tmp_path / "run").rglob("*.json*")
    )


def test_a_busy_server_is_asked_again_and_a_cancelled_job_is_said(
    tmp_path: Path, picture: Image.Image
) -> None:
    with VllmOmniServer(fault="busy") as server:
        served(server, "vllm_omni").generate(picture, PROMPT, method="base", output_dir=tmp_path / "busy")
        assert server.submitted == 2
    with VllmOmniServer(fault="cancelled") as server, pytest.raises(PhysPlanError, match="job cancelled"):
        served(server, "vllm_omni").generate(picture, PROMPT, method="base", output_dir=tmp_path / "gone")


def test_a_job_that_never_ends_is_cancelled_at_the_time_limit(tmp_path: Path, picture: Image.Image) -> None:
    limit = {"video.time_limit": 0.5}
    with VllmOmniServer(fault="stuck") as server, pytest.raises(PhysPlanError, match="was cancelled"):
        served(server, "vllm_omni", **limit).generate(
            picture, PROMPT, method="base", output_dir=tmp_path / "a"
        )
    assert server.deleted == ["video_1"]
    with OpenRouterServer(
        fault="stuck"
    ) as server:  # which cannot cancel: the job is fetched later, paid once
        pp = served(server, "openrouter", **limit)
        with pytest.raises(PhysPlanError, match="run it again to fetch it"):
            pp.generate(picture, PROMPT, method="base", output_dir=tmp_path / "b")
        server.fault = ""
        pp.generate(picture, PROMPT, method="base", output_dir=tmp_path / "b")
        assert server.submitted == 1
    (entry,) = entries(tmp_path / "b")
    assert (entry.outcome, entry.usd) == ("answered", pytest.approx(0.2))  # 2 s at the dearest price


def test_a_chain_that_was_cut_off_in_the_middle_pays_each_of_its_videos_once(
    tmp_path: Path, picture: Image.Image
) -> None:
    class SecondIsStuck(OpenRouterServer):
        def state(self, job: Job) -> dict[str, Any]:
            stuck = job.id == "video_2" and self.fault == "second"
            return {"status": "in_progress"} if stuck else super().state(job)

    with SecondIsStuck(fault="second") as server:
        pp = served(server, "openrouter", **{"video.time_limit": 3.0})
        with pytest.raises(PhysPlanError, match="run it again to fetch it"):
            pp.generate(picture, PROMPT, method="conditioned", output_dir=tmp_path / "run")
        assert server.submitted == 2
        server.fault = ""
        result = pp.generate(picture, PROMPT, method="conditioned", output_dir=tmp_path / "run")
        parts = len(result.plan.events) + int(result.plan.anchors[-1] < 16)
        assert server.submitted == parts > 1
    made = entries(tmp_path / "run")
    assert [entry.outcome for entry in made] == ["answered"] * parts
    assert sum(entry.usd for entry in made) == pytest.approx(0.2 * parts)


def test_the_budget_holds_at_the_worst_price(tmp_path: Path, picture: Image.Image) -> None:
    with OpenRouterServer() as server:
        for budget, fits in ((0.19, False), (0.20, True)):
            pp = served(server, "openrouter", **{"runtime.budget": budget})
            folder = tmp_path / str(budget)
            if fits:
                pp.generate(picture, PROMPT, method="base", output_dir=folder)
            else:
                with pytest.raises(PhysPlanError, match="could cost up to"):
                    pp.generate(picture, PROMPT, method="base", output_dir=folder)
                assert server.submitted == 0


KILLED = f"""
import json, sys
from physplan import PhysPlan
from physplan_sandbox import samples
picture = samples.first_frame(samples.sample("drop"))
pp = PhysPlan.from_preset("sandbox", **json.loads(sys.argv[1]))
pp.generate(picture, {PROMPT!r}, method="base", output_dir=sys.argv[2])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_finds_its_job_again_and_a_stopped_one_cancels_it(
    how: signal.Signals, tmp_path: Path
) -> None:
    with VllmOmniServer(fault="stuck") as server:
        settings = json.dumps(settings_of(server, "vllm_omni"))
        asked = [sys.executable, "-c", KILLED, settings, str(tmp_path / "run")]
        process = subprocess.Popen(asked, stderr=subprocess.PIPE, text=True)
        jobs = tmp_path / "run" / "calls" / "video-jobs"
        deadline = time.monotonic() + 120
        while not list(jobs.glob("*.json")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        begun = list(jobs.glob("*.json"))
        process.send_signal(how)
        said = process.communicate(timeout=200)[1]
        assert begun, said
        server.fault = ""
        assert server.deleted == ([] if how == signal.SIGKILL else ["video_1"])
        again = subprocess.run(asked, check=False, stderr=subprocess.PIPE, text=True, timeout=200)
        assert again.returncode == 0, again.stderr
        assert len(Result.load(tmp_path / "run").video) == 17
        assert server.submitted == (1 if how == signal.SIGKILL else 2)
    answered = [entry for entry in entries(tmp_path / "run") if entry.outcome == "answered"]
    assert len(answered) == 1
    if how == signal.SIGKILL:
        assert len(entries(tmp_path / "run")) == 1


def test_a_dry_run_names_the_videos_and_their_price(tmp_path: Path, picture: Image.Image) -> None:
    with SERVERS["gemini"]() as server:
        found = served(server, "gemini").forecast(
            picture, PROMPT, method="base", output_dir=tmp_path / "run", with_memory=False
        )
    (video,) = [item for item in found.work if item.stage == "video"]
    assert "veo-3.1-fast" in video.what
    assert (video.calls, video.usd) == (1, pytest.approx(4 * 0.15))


def test_the_preset_cloud_makes_a_video_with_one_key_and_one_budget(
    models: Path, gemini: GeminiServer, ice: Path, tmp_path: Path
) -> None:
    """Plan and keyframes by Gemini, the video by Veo, small real model classes that look on."""
    settings = tiny_pipelines.storyboard(models, gemini.url) | {"preset": "cloud"}
    with GeminiVideoServer() as server:
        server.key = GeminiServer.key
        settings["video"] = {"width": 48, "height": 32, "num_frames": 9, "fps": 8, "base_url": server.url}
        settings["editor"] = settings["editor"] | {"redraws": 0}
        pp = PhysPlan.from_preset(settings)
        result = pp.generate(ice, tiny_pipelines.PROMPT, output_dir=tmp_path / "run")
    assert pp.config.method == "conditioned"
    assert result.video.shape == (9, 3, 32, 48)
    made = entries(tmp_path / "run")
    videos = [entry for entry in made if entry.purpose == "video"]
    assert {entry.purpose for entry in made} > {"video", "keyframe"}
    assert sum(entry.usd for entry in videos) >= len(result.plan.events) * 8 * 0.15 - 1e-9
    assert sum(entry.usd for entry in made) <= (pp.config.runtime.budget or 0)
    assert (tmp_path / "run" / layout.VERDICT).exists()

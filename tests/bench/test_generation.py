"""Driving the generation of a benchmark's videos: names, size, duration, resumption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from physplan.errors import PhysPlanError
from physplan_bench.engine import EngineConfig
from physplan_bench.generation import (
    GenerationConfig,
    Wanted,
    generate,
    load_generator,
)
from physplan_bench.physics_iq.dataset import Scene, find_switch_frames
from physplan_bench.videos import probe, read_video

CALLS: list[tuple[tuple[int, int], str, int]] = []


def make_generator():
    """A 'model' that holds the first frame for 49 frames at 8 FPS, as CogVideoX would in length."""

    def generator(first: Image.Image, prompt: str, seed: int, directory: Path) -> tuple[np.ndarray, float]:
        CALLS.append((first.size, prompt, seed))
        (directory / "state.txt").write_text(prompt)
        return np.repeat(np.asarray(first)[None], 49, axis=0), 8.0

    return generator


@pytest.fixture
def wanted(tmp_path: Path) -> list[Wanted]:
    CALLS.clear()
    items = []
    for i in (1, 2):
        pixels = np.zeros((90, 160, 3), np.uint8)
        pixels[:, : 40 * i] = (200, 60, 30)
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
        items.append(
            Wanted(name=f"{i:04d}", first_frame=tmp_path / f"{i}.png", prompt=f"p{i}", file=f"{i:04d}_x.mp4")
        )
    return items


@pytest.mark.parametrize(
    ("size", "fit", "given"),
    [((48, 72), "stretch", (72, 48)), ((48, 72), "letterbox", (72, 48)), (None, "stretch", (160, 90))],
)
def test_videos_have_the_pictures_shape_and_the_benchmarks_length(
    wanted, tmp_path: Path, size, fit, given
) -> None:
    config = GenerationConfig(generator="hold", size=size, fit=fit, seconds=5)
    generate(wanted, make_generator, tmp_path / "out", tmp_path / "work", config=config)
    assert [(given, "p1", 0), (given, "p2", 0)] == CALLS
    for i, path in enumerate(sorted((tmp_path / "out").glob("*.mp4")), start=1):
        info = probe(path)
        assert path.name == f"{i:04d}_x.mp4"
        assert (info.frames, info.fps) == (40, 8)
        assert info.seconds == pytest.approx(5, abs=0.001)
        assert info.width / info.height == pytest.approx(16 / 9, rel=0.05)
        frame = read_video(path)[20].astype(int)
        edge = (
            40 * i / 160 * info.width
        )  # the red part ends where it ends in the picture: nothing was cropped
        assert frame[info.height // 2, round(edge * 0.8), 0] > 150
        assert frame[info.height // 2, round(edge * 1.2), 0] < 60


def test_only_missing_videos_are_made(wanted, tmp_path: Path) -> None:
    config = GenerationConfig(generator="hold", seconds=5)
    generate(wanted[:1], make_generator, tmp_path / "out", tmp_path / "work", config=config)
    generate(wanted, make_generator, tmp_path / "out", tmp_path / "work", config=config)
    assert [prompt for _, prompt, _ in CALLS] == ["p1", "p2"]
    other = GenerationConfig(generator="hold", seconds=5, seed=1)
    generate(wanted, make_generator, tmp_path / "other", tmp_path / "work", config=other)
    assert [seed for _, _, seed in CALLS] == [0, 0, 1, 1]


def test_videos_that_are_too_short_fail_their_case(wanted, tmp_path: Path) -> None:
    config = GenerationConfig(generator="hold", seconds=7)
    report = generate(
        wanted, make_generator, tmp_path / "out", tmp_path / "work", config=config, engine=EngineConfig()
    )
    assert "49 frames at 8 a second, 6.12 s, but 7 s are wanted" in report.failures["0001"]


def test_switch_frames_are_found_by_id(tmp_path: Path) -> None:
    scene = Scene(
        id="0001", scenario="s", view="v", category="Optics", description="d", generated_name="g.mp4"
    )
    (tmp_path / "switch-frames").mkdir()
    with pytest.raises(PhysPlanError, match="lacks the switch frame of 0001"):
        find_switch_frames(tmp_path, [scene])
    path = tmp_path / "switch-frames" / "0001_switch-frames_anyFPS_perspective-left_s.jpg"
    Image.new("RGB", (32, 18)).save(path)
    assert find_switch_frames(tmp_path, [scene]) == {"0001": path}


def test_the_command_makes_phygenbenchs_videos(tmp_path: Path, evaluate_command) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "prompts.json").write_text('[{"caption": "ice"}, {"caption": "a ball"}]')
    (tmp_path / "frames").mkdir()
    for n in (1, 2):
        Image.new("RGB", (48, 32), "blue").save(tmp_path / "frames" / f"first_frame_{n}.png")
    arguments = (
        "--data",
        tmp_path / "data",
        "--first-frames",
        tmp_path / "frames",
        "--videos",
        tmp_path / "videos",
    )
    code, _, err = evaluate_command("phygenbench", *arguments, "--generate", f"{__name__}:make_generator")
    assert code == 0, err
    assert sorted(path.name for path in (tmp_path / "videos").glob("*.mp4")) == [
        "output_video_1.mp4",
        "output_video_2.mp4",
    ]
    code, _, err = evaluate_command(
        "phygenbench", *arguments, "--generate", f"{__name__}:make_generator", "--size", "big"
    )
    assert code == 2
    assert "is not HEIGHTxWIDTH" in err


def test_a_generator_is_named_by_module_and_function() -> None:
    assert load_generator(f"{__name__}:make_generator") is make_generator
    with pytest.raises(PhysPlanError, match="cannot be loaded"):
        load_generator("nowhere:make")
    with pytest.raises(PhysPlanError, match="names no generator"):
        load_generator("cogvideox")

"""VBench: the paper's rows from their dimensions, the dimensions from frames, and official result files."""

from __future__ import annotations

import json
from pathlib import Path

import evaluation_models as tiny
import numpy as np
import pytest
import torch
from evaluation_videos import write_video

from physplan.errors import PhysPlanError
from physplan_bench.paper_tables import reported_rows
from physplan_bench.pixels import CLIP, centre_crop
from physplan_bench.vbench import dimensions
from physplan_bench.vbench.benchmark import mean
from physplan_bench.vbench.extractors import AestheticHead, ClipFeatures, DinoFeatures, make_measure
from physplan_bench.vbench.score import DIMENSIONS, quality_score, read_results


@pytest.mark.parametrize("row", reported_rows("vbench"), ids=lambda row: row.label)
def test_the_quality_score_reproduces_the_papers_rows(row) -> None:
    printed, *values = row.cells
    score = quality_score({name: value / 100 for name, value in zip(DIMENSIONS, values, strict=True)})
    assert 100 * score == pytest.approx(printed, abs=0.02)


def test_the_quality_score_needs_all_seven() -> None:
    with pytest.raises(PhysPlanError, match="missing: subject_consistency, background_consistency"):
        quality_score({"dynamic_degree": 0.5})


def moving(frames: int = 12, step: int = 2) -> np.ndarray:
    video = np.zeros((frames, 40, 56, 3), np.uint8)
    for t in range(frames):
        video[t, 10:20, step * t : step * t + 10] = 200
    return video


def test_temporal_flickering_is_the_mean_change_between_neighbours() -> None:
    assert dimensions.temporal_flickering(np.full((5, 8, 8, 3), 77, np.uint8)) == 1
    flicker = np.zeros((5, 8, 8, 3), np.uint8)
    flicker[::2] = 51
    assert dimensions.temporal_flickering(flicker) == pytest.approx((255 - 51) / 255)
    # 2 columns of 10 pixels appear and 2 vanish in every step
    changed = 2 * 2 * 10 / (40 * 56)
    assert dimensions.temporal_flickering(moving()) == pytest.approx(1 - changed * 200 / 255, rel=1e-6)


def test_consistency_is_the_mean_of_the_cosines_to_previous_and_first() -> None:
    east, north, west = [1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]
    assert dimensions.consistency(np.array([east, east, east])) == 1
    # north: previous 0, first 0. east: previous 0, first 1. west: previous -1 -> 0, first -1 -> 0
    assert dimensions.consistency(np.array([east, north, east, west])) == pytest.approx(0.5 / 3)


def test_motion_smoothness_compares_the_odd_frames_with_their_interpolation() -> None:
    video = moving(7)
    assert dimensions.motion_smoothness(video, list(video[1::2])) == 1
    assert dimensions.motion_smoothness(video, [frame // 2 for frame in video[1::2]]) < 1
    ramp = np.stack([np.full((4, 4, 3), 10 * t, np.uint8) for t in range(6)])
    assert dimensions.motion_smoothness(ramp, [ramp[1] + 51, ramp[3]]) == pytest.approx(1 - 51 / 2 / 255)


def test_dynamic_degree_needs_enough_fast_pairs() -> None:
    fast, slow = np.full((256, 256, 2), 5.0), np.full((256, 256, 2), 1.0)  # lengths 7.07 and 1.41
    assert dimensions.dynamic_degree([fast] * 4 + [slow] * 11, size=(256, 300)) == 1  # 16 frames need 4
    assert dimensions.dynamic_degree([fast] * 3 + [slow] * 12, size=(256, 300)) == 0
    few = np.zeros((100, 100, 2))
    few[:5, :, 0] = 8  # exactly the fastest 5 %
    assert dimensions.fastest(few) == 8
    assert dimensions.dynamic_frames(49, 8) == list(range(49))
    assert dimensions.dynamic_frames(49, 24) == list(range(0, 49, 3))


def test_scores_of_other_scales_end_in_0_to_1() -> None:
    assert dimensions.aesthetic_quality(np.array([5.0, 7.0])) == 0.6
    assert dimensions.imaging_quality(np.array([60.0, 70.0])) == 0.65


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("models")
    head = root / "head.pth"
    torch.manual_seed(0)
    torch.save(torch.nn.Linear(12, 1).state_dict(), head)
    return {"dino": tiny.dino(root / "dino"), "clip": tiny.clip(root / "clip"), "head": str(head)}


def test_dino_and_clip_are_the_real_classes(models) -> None:
    dino = DinoFeatures(models["dino"], side=32)(moving())
    clip = ClipFeatures(models["clip"])(moving())
    assert dino.shape == (12, 16)
    assert clip.shape == (12, 12)
    assert 0 < dimensions.consistency(dino) < 1
    assert 0 < dimensions.consistency(clip) < 1


def test_the_aesthetic_head_is_linear_on_unit_features(models) -> None:
    head = AestheticHead(models["clip"], Path(models["head"]))
    features = ClipFeatures(models["clip"])(moving())
    linear = torch.nn.Linear(12, 1)
    linear.load_state_dict(torch.load(models["head"]))
    unit = torch.nn.functional.normalize(torch.from_numpy(features).float(), dim=-1)
    np.testing.assert_allclose(head(moving()), linear(unit).detach().numpy()[:, 0], rtol=1e-4, atol=1e-6)


def test_what_cannot_be_measured_says_how_it_could() -> None:
    with pytest.raises(PhysPlanError, match="motion_smoothness has no model of its own here"):
        make_measure("motion_smoothness", "some/model")
    with pytest.raises(PhysPlanError, match="cannot be loaded"):
        make_measure("motion_smoothness", "no_such_module:load")


def half_measure():
    return lambda video, fps: 0.5


def test_the_command_measures_and_fills_in_from_result_files(
    models, evaluate_command, tmp_path: Path
) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for i in (1, 2):
        write_video(videos / f"{i}.mp4", moving(step=i))
    rest = tmp_path / "rest.json"
    rest.write_text(
        json.dumps(
            {
                "subject_consistency": [0.97, []],
                "temporal_flickering": [0.1, []],  # measured here: this one is replaced
                "dynamic degree": 0.7,
                "aesthetic_quality": [0.6, []],
                "imaging_quality": [0.6, []],
                "object_class": [0.9, []],
            }
        )
    )
    code, out, err = evaluate_command(
        "vbench",
        *("--videos", videos, "--results", rest, "--json"),
        *(
            "--use",
            f"background_consistency={models['clip']}",
            "--use",
            f"motion_smoothness={__name__}:half_measure",
        ),
    )
    assert code == 0, err
    result = json.loads(out)
    assert result["dimensions"]["motion_smoothness"] == 0.5
    assert result["dimensions"]["temporal_flickering"] > 0.9
    assert result["dimensions"]["subject_consistency"] == 0.97
    assert result["quality_score"] == pytest.approx(quality_score(result["dimensions"]))
    assert len(result["videos"]) == 2
    assert result["provenance"]["settings"]["measures"]["motion_smoothness"].endswith("half_measure")


def test_the_numbers_are_the_same_whichever_way_it_ran(evaluate_command, tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for i in range(1, 5):
        write_video(videos / f"{i}.mp4", moving(step=i))

    def measure(work: str, *how: str) -> dict:
        code, out, err = evaluate_command(
            "vbench", "--videos", videos, "--json", "--work", tmp_path / work, *how
        )
        assert code == 0, err
        return json.loads(out)

    serial = measure("serial")
    parts = [measure("shards", "--shard", f"{i}/3") for i in (1, 2, 3)]
    assert [(part["partial"], part["measured"], part["of"]) for part in parts] == [
        (True, 2, 4),
        (True, 1, 4),
        (True, 1, 4),
    ]
    assert not any("dimensions" in part for part in parts)  # the mean of a part is no result
    ways = [measure("processes", "--workers", "2"), measure("shards")]
    assert [way["videos"] for way in ways] == [serial["videos"]] * 2
    assert [way["dimensions"] for way in ways] == [serial["dimensions"]] * 2


def test_consistency_averages_over_frames_and_everything_else_over_videos() -> None:
    results = {
        "short": {
            "frames": 3,
            "subject_consistency": 0.4,
            "background_consistency": 0.2,
            "dynamic_degree": 1,
        },
        "long": {"frames": 9, "subject_consistency": 0.9, "background_consistency": 1.0, "dynamic_degree": 0},
    }
    assert mean("subject_consistency", results) == pytest.approx((2 * 0.4 + 8 * 0.9) / 10)
    assert mean("background_consistency", results) == pytest.approx((2 * 0.2 + 8 * 1.0) / 10)
    assert mean("dynamic_degree", results) == 0.5


@pytest.mark.parametrize(("width", "left"), [(32, 0), (33, 0), (34, 1), (35, 2), (36, 2), (37, 2), (39, 4)])
def test_half_a_pixel_of_the_centre_crop_goes_to_the_even_side_as_in_torchvision(width, left) -> None:
    columns = torch.arange(width).expand(1, 3, 32, width)
    assert centre_crop(columns, 32, to_even=True)[0, 0, 0, 0] == left
    assert centre_crop(columns, 32)[0, 0, 0, 0] == (width - 32) // 2


def test_clip_sees_what_vbench_shows_it(models, monkeypatch) -> None:
    """Neither rounded nor clamped after the bicubic resize, cropped where torchvision crops."""
    seen = {}
    clip = ClipFeatures(models["clip"])
    features = clip._model.get_image_features

    def spy(*, pixel_values):
        seen["pixels"] = pixel_values
        return features(pixel_values=pixel_values)

    monkeypatch.setattr(clip._model, "get_image_features", spy)
    frames = np.random.default_rng(0).integers(0, 256, (2, 40, 46, 3)).astype(np.uint8)
    clip(frames)
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    resized = torch.nn.functional.interpolate(images, (32, 36), mode="bicubic", align_corners=False)
    mean_of, std = (torch.tensor(values)[:, None, None] for values in CLIP)
    expected = (resized[..., 2:34] / 255 - mean_of) / std
    torch.testing.assert_close(seen["pixels"], expected)


def test_a_part_prints_no_number_and_needs_a_folder_to_keep_its_results_in(
    evaluate_command, tmp_path: Path
) -> None:
    for i in (1, 2):
        write_video(tmp_path / f"{i}.mp4", moving(step=i))
    result = tmp_path / "result.json"
    code, out, _ = evaluate_command("vbench", "--videos", tmp_path, "--shard", "1/2", "-o", result)
    assert code == 0
    assert out == "1 of 2 cases are done; run without --shard for the result.\n"
    assert not result.exists()
    code, _, err = evaluate_command("vbench", "--videos", tmp_path, "--shard", "1/2")
    assert code == 2
    assert "--shard needs --work" in err


def test_the_command_reads_official_results(evaluate_command, tmp_path: Path) -> None:
    ours = reported_rows("vbench")[-1]
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps(
            {n: [v / 100, [{"video_path": "x"}]] for n, v in zip(DIMENSIONS, ours.cells[1:], strict=True)}
        )
    )
    code, out, _ = evaluate_command("vbench", "--results", path, "--reported")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("this run"))
    assert "84.87" in line or "84.88" in line
    assert line.endswith("measured")
    code, out, _ = evaluate_command("vbench", "--results", path, "--format", "latex")
    assert r"\begin{tabular}" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not an object"),
        ('{"x": 1}', "none of the seven"),
        ('{"dynamic_degree": [70, []]}', "is 70, not"),
        ("{", "cannot be read"),
    ],
)
def test_wrong_result_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(PhysPlanError, match=message):
        read_results(path)


def test_a_misspelt_dimension_gets_a_suggestion(evaluate_command, tmp_path: Path) -> None:
    code, _, err = evaluate_command("vbench", "--videos", tmp_path, "--use", "motion_smothness=a:b")
    assert code == 2
    assert "Did you mean 'motion_smoothness'?" in err

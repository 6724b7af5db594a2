"""Frechet distances: the value, the clips, the extractors, the warning."""

from __future__ import annotations

import json
from pathlib import Path

import evaluation_models as tiny
import numpy as np
import pytest
import torch
from evaluation_videos import write_video

from physplan.errors import PhysPlanError
from physplan_bench.frechet.benchmark import clip_start, frame_indices
from physplan_bench.frechet.distance import Gaussian, fit, frechet_distance, size_warning
from physplan_bench.frechet.extractors import VideoMAEFeatures, load_extractor
from physplan_bench.frechet.inception import InceptionV3


def samples(count: int, dimension: int, *, seed: int, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(dimension, dimension))
    return rng.normal(size=(count, dimension)) @ mixing + shift


def test_the_distance_of_commuting_gaussians_is_known() -> None:
    one = Gaussian(mean=np.array([0.0, 0.0]), covariance=np.diag([4.0, 9.0]), count=10)
    two = Gaussian(mean=np.array([1.0, 2.0]), covariance=np.diag([1.0, 25.0]), count=10)
    assert frechet_distance(one, two) == pytest.approx(5 + (2 - 1) ** 2 + (3 - 5) ** 2)


def test_equal_samples_have_distance_zero_even_when_singular() -> None:
    features = samples(20, 64, seed=0)
    assert frechet_distance(fit(features), fit(features)) == pytest.approx(
        0, abs=1e-8 * np.var(features) * 64
    )


def test_the_distance_is_symmetric_and_free_of_rotation() -> None:
    one, two = samples(300, 8, seed=0), samples(300, 8, seed=1, shift=0.5)
    rotation, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(8, 8)))
    distance = frechet_distance(fit(one), fit(two))
    assert frechet_distance(fit(two), fit(one)) == pytest.approx(distance, rel=1e-9)
    assert frechet_distance(fit(one @ rotation), fit(two @ rotation)) == pytest.approx(distance, rel=1e-9)


class Pixels(torch.nn.Module):
    """A feature module for torchmetrics: the means of 4 x 4 patches."""

    num_features = 48

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(images.double(), 4).flatten(1)


def test_it_equals_torchmetrics() -> None:
    from torchmetrics.image.fid import FrechetInceptionDistance

    rng = np.random.default_rng(0)
    real = rng.integers(0, 256, (200, 3, 16, 16)).astype(np.uint8)
    fake = np.clip(rng.normal(140, 40, (150, 3, 16, 16)), 0, 255).astype(np.uint8)
    module = Pixels()
    metric = FrechetInceptionDistance(feature=module, input_img_size=(3, 16, 16)).set_dtype(torch.float64)
    metric.update(torch.from_numpy(real), real=True)
    metric.update(torch.from_numpy(fake), real=False)
    ours = frechet_distance(
        fit(module(torch.from_numpy(real)).numpy()), fit(module(torch.from_numpy(fake)).numpy())
    )
    assert ours == pytest.approx(float(metric.compute()), rel=1e-6)
    assert ours > 1


def test_few_samples_are_warned_about() -> None:
    assert "Only 8 samples for 8 features" in (
        size_warning(fit(samples(8, 8, seed=0)), fit(samples(99, 8, seed=0))) or ""
    )
    assert size_warning(fit(samples(9, 8, seed=0)), fit(samples(99, 8, seed=0))) is None


@pytest.mark.parametrize("features", [np.zeros((1, 4)), np.full((5, 4), np.nan)])
def test_features_without_a_gaussian_are_refused(features: np.ndarray) -> None:
    with pytest.raises(PhysPlanError):
        fit(features)


def test_clips_are_drawn_by_seed_and_name() -> None:
    starts = {seed: [clip_start(49, 16, name=f"{i}.mp4", seed=seed) for i in range(40)] for seed in (0, 1)}
    assert starts[0] == [clip_start(49, 16, name=f"{i}.mp4", seed=0) for i in range(40)]
    assert starts[0] != starts[1]
    assert {0 <= start <= 33 for start in starts[0]} == {True}
    assert len(set(starts[0])) > 10
    assert clip_start(16, 16, name="x", seed=0) == 0
    assert clip_start(15, 16, name="x", seed=0) is None
    assert list(frame_indices(49, 3)) == [0, 24, 48]
    assert list(frame_indices(5, 0)) == [0, 1, 2, 3, 4]


def test_inception_has_the_known_number_of_parameters_and_reads_its_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = InceptionV3().eval()
    # the published network: 27,161,264 in all, less its classifier (2,049,000) and auxiliary head (3,326,696)
    assert sum(p.numel() for p in model.parameters()) == 27_161_264 - 2_049_000 - 3_326_696
    path = tmp_path / "weights.pth"
    torch.save(
        {**model.state_dict(), "fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}, path
    )
    frames = np.random.default_rng(0).integers(0, 256, (2, 24, 32, 3)).astype(np.uint8)
    extractor = load_extractor(f"inception:{path}", kind="frame")
    features = extractor(frames)
    assert features.shape == (2, 2048)
    assert features.dtype == np.float64
    pixels = torch.from_numpy(frames).permute(0, 3, 1, 2) / 127.5 - 1
    with torch.no_grad():
        expected = model(torch.nn.functional.interpolate(pixels, size=(299, 299), mode="bilinear"))
    np.testing.assert_allclose(features, expected.numpy(), rtol=1e-3, atol=1e-5)
    torch.save({"nothing": torch.zeros(1)}, path)
    with pytest.raises(PhysPlanError, match=r"lacks weights of Inception v3, such as Conv2d_1a_3x3"):
        InceptionV3.from_file(path)


def test_videomae_features_are_what_its_classifier_sees(tmp_path: Path) -> None:
    from transformers import VideoMAEForVideoClassification

    source = tiny.videomae(tmp_path / "videomae")
    extractor = VideoMAEFeatures(source)
    clip = np.random.default_rng(0).integers(0, 256, (4, 36, 36, 3)).astype(np.uint8)
    features = extractor(clip[None])
    assert extractor.frames == 4
    assert features.shape == (1, 16)
    model = VideoMAEForVideoClassification.from_pretrained(source).eval()
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    # 36 is 32 * 256 // 224: no resize, only the centre
    pixels = ((torch.from_numpy(clip)[:, 2:34, 2:34] / 255 - mean) / std).permute(0, 3, 1, 2)[None]
    with torch.no_grad():
        logits = model(pixels.float()).logits
        ours = model.classifier(torch.from_numpy(features).float())
    torch.testing.assert_close(ours, logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", ["videomae", "inception:x", "resnet:y:z", "no_module_here:load"])
def test_unknown_extractors_are_refused(spec: str) -> None:
    with pytest.raises(PhysPlanError, match=r"extractor|cannot be loaded"):
        load_extractor(spec, kind="clip")


class MeanColour:
    name = "mean colour"
    frames = 4

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        return pixels.reshape(len(pixels), -1, 3).mean(axis=1)


@pytest.mark.parametrize("benchmark", ["fid", "fvd"])
def test_the_command_measures_two_folders(benchmark: str, evaluate_command, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for side, level in (("real", 100), ("fake", 140)):
        (tmp_path / side).mkdir()
        for i in range(3):
            frames = np.clip(rng.normal(level + 8 * i, 20, (8, 16, 16, 3)), 0, 255).astype(np.uint8)
            write_video(tmp_path / side / f"{i}.mp4", frames)
    arguments = (
        "--generated",
        tmp_path / "fake",
        "--real",
        tmp_path / "real",
        "-o",
        tmp_path / f"{benchmark}.json",
    )
    arguments += ("--extractor", f"{__name__}:MeanColour")
    code, out, err = evaluate_command(benchmark, *arguments, "--reported")
    assert code == 0, err
    assert "632.8" in out if benchmark == "fvd" else "48.2" in out
    result = json.loads((tmp_path / f"{benchmark}.json").read_text())
    assert result["n_real"] == (3 if benchmark == "fvd" else 24)
    assert result["dimension"] == 3
    assert result[benchmark] > 1000  # 40 grey levels apart
    assert bool(result["warnings"]) == (benchmark == "fvd")
    assert ("n <= d" in err) == (benchmark == "fvd")
    same = (*arguments[:1], tmp_path / "real", *arguments[2:])
    code, out, _ = evaluate_command(benchmark, *same, "--json")
    assert json.loads(out)[benchmark] == pytest.approx(0, abs=1e-6)


def test_a_video_shorter_than_a_clip_is_refused(evaluate_command, tmp_path: Path) -> None:
    for side in ("real", "fake"):
        (tmp_path / side).mkdir()
        write_video(tmp_path / side / "short.mp4", np.zeros((3, 16, 16, 3), np.uint8))
    code, _, err = evaluate_command(
        "fvd",
        "--generated",
        tmp_path / "fake",
        "--real",
        tmp_path / "real",
        "--extractor",
        f"{__name__}:MeanColour",
    )
    assert code == 2
    assert "short.mp4 has 3 frames; a clip needs 4" in err

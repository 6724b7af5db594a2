"""b and tau from pictures and masks, as a function and as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.guidance.paper.grid import mask_on_grid
from physplan.guidance.paper.occupancy import occupancy, reference_feature, similarity
from physplan.pictures import to_picture
from physplan.pipeline.config_loading import load_config
from physplan_bench.calibration import calibrate
from physplan_testing.pictures import ColourFeatures, disc, paint

SIZE = (96, 96)
PLACES = [((0.9, 0.1, 0.1), 30.0), ((0.1, 0.7, 0.2), 48.0), ((0.1, 0.2, 0.9), 66.0)]


def examples() -> list[tuple[torch.Tensor, torch.Tensor]]:
    found = []
    for colour, x in PLACES:
        mask = disc(SIZE, x, 48, 14)
        found.append((paint(SIZE, (mask, colour)), mask))
    return found


def test_the_occupancy_with_the_found_values_is_the_mask():
    found = calibrate(examples(), ColourFeatures(), size=SIZE)
    assert found.objects == 3
    assert found.accuracy > 0.95
    for picture, mask in examples():
        features = ColourFeatures()(picture[None])[0]
        own = mask_on_grid(mask, features.shape[-2:])
        similar = similarity(features, reference_feature(features, own)[None])[0]
        phi = occupancy(similar, threshold=found.threshold, temperature=found.temperature)
        assert phi[own].median() > 0.5 > phi[~own].median()


def test_masks_that_mark_nothing_are_refused():
    nothing = [(picture, torch.zeros_like(mask)) for picture, mask in examples()]
    with pytest.raises(PhysPlanError, match="No mask marks a part of its picture"):
        calibrate(nothing, ColourFeatures(), size=SIZE)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    pictures, masks = tmp_path / "pictures", tmp_path / "masks"
    pictures.mkdir()
    (masks / "2").mkdir(parents=True)
    for number, (picture, mask) in enumerate(examples()):
        to_picture(picture).save(pictures / f"{number}.png")
        where = masks / "2" / "ball.png" if number == 2 else masks / f"{number}.png"
        to_picture(mask.float().expand(3, -1, -1)).save(where)
    return pictures, masks


def test_the_command_stores_them_in_a_config_file(folders, tmp_path: Path, capsys):
    config = tmp_path / "mine.yaml"
    config.write_text("preset: sandbox\nguided_sketch: {step_size: 7}\n")
    assert main(["evaluate", "calibrate", *map(str, folders), "--into", str(config)]) == 0
    assert "from 3 objects" in capsys.readouterr().out
    read = load_config(config).guided_sketch
    assert read.step_size == 7
    assert read.measure.fill == "log"  # the preset's own
    assert 0 < read.measure.temperature < 0.5
    assert f"threshold: {read.measure.threshold}" in config.read_text()


def test_what_is_missing_is_one_sentence_and_nothing_is_written(folders, tmp_path: Path, capsys):
    pictures, masks = folders
    new = tmp_path / "new.yaml"
    for arguments, words in (
        ((pictures, tmp_path / "none", "--into", new), "There is no folder"),
        ((pictures, tmp_path, "--into", new), "has the name of a picture"),
        ((pictures, masks, "--into", tmp_path / "new.txt"), "is no YAML file"),
    ):
        assert main(["evaluate", "calibrate", *map(str, arguments)]) != 0
        assert words in capsys.readouterr().err
    assert not new.exists()

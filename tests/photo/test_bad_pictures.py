"""Awkward photographs: turned by EXIF, transparent, portrait, very large, and things that the frame cuts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

cv2 = pytest.importorskip("cv2")

from physplan.errors import PhysPlanError  # noqa: E402
from physplan.graph import EventChain  # noqa: E402
from physplan.pictures import open_picture  # noqa: E402
from physplan_photo.cli.given import _in_frame, frame_size  # noqa: E402
from physplan_photo.compose.render import Renderer  # noqa: E402
from physplan_photo.cutting import _is_backdrop  # noqa: E402
from physplan_photo.grammar.reasoner import plan_sentence  # noqa: E402
from physplan_photo.graph.relations import Seen, photo_graph  # noqa: E402
from physplan_photo.objects import Asked, parse_object  # noqa: E402
from physplan_photo.segmenter import PhotoSegmenter  # noqa: E402

H, W = 120, 180


def test_exif_turns_the_photograph_upright_before_boxes_are_read(tmp_path: Path) -> None:
    turned = Image.new("RGB", (300, 200), "white")
    turned.paste("red", (0, 0, 60, 40))
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned clockwise
    turned.save(tmp_path / "phone.jpg", exif=exif)
    upright = open_picture(tmp_path / "phone.jpg")
    assert upright.size == (200, 300)
    assert upright.getpixel((190, 10))[0] > 200 > upright.getpixel((190, 10))[1]
    assert upright.getpixel((10, 10)) == (255, 255, 255)


def test_transparency_becomes_a_ground_and_portrait_stays_portrait(tmp_path: Path) -> None:
    picture = Image.new("RGBA", (200, 400), (0, 0, 0, 0))
    picture.paste((0, 160, 0, 255), (50, 50, 150, 350))
    picture.save(tmp_path / "clear.png")
    opened = open_picture(tmp_path / "clear.png")
    assert opened.mode == "RGB"
    assert opened.getpixel((100, 200)) == (0, 160, 0)
    assert frame_size(opened.size, 704) == (352, 704)
    typed = _in_frame(parse_object("leaf:50,50,150,350"), opened.size, (352, 704))
    assert typed == "leaf:88.0,88.0,264.0,616.0"


def test_a_photograph_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    Image.new("1", (10_000, 6_000)).save(tmp_path / "vast.png")
    with pytest.raises(PhysPlanError, match="scale it to 50 megapixels or less"):
        open_picture(tmp_path / "vast.png")


@pytest.mark.parametrize("edge", ["left", "right", "top", "bottom"])
@pytest.mark.parametrize("prompt", ["the ball rises", "the ball slides to the left", "the ball tips over"])
def test_a_thing_that_the_frame_cuts_moves_without_an_error(
    edge: str, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("physplan_photo.compose.plate.have", lambda name: None)
    at = {"left": (0, 60), "right": (W - 1, 60), "top": (90, 0), "bottom": (90, H - 1)}[edge]
    ys, xs = np.mgrid[:H, :W]
    ball = (xs - at[0]) ** 2 + (ys - at[1]) ** 2 < 30**2
    image = np.full((H, W, 3), 0.6, np.float32)
    image[ball] = (0.8, 0.1, 0.1)
    graph, masks = photo_graph([Seen("ball", ball)])
    deltas, translations, _ = plan_sentence(prompt, graph, masks, width=W / H)
    chain = EventChain.build(
        prompt=prompt, num_frames=9, graph=graph, deltas=deltas,
        edits=[t.edits for t in translations], motions=[t.motion for t in translations],
    )  # fmt: skip
    last = Renderer(chain=chain, image=image, masks=masks, seed=0).frame(8).image
    assert np.isfinite(last).all()
    assert np.abs(last - image).max() > 0.2


def test_overlapping_outlines_are_divided_and_both_are_kept() -> None:
    from physplan_photo.cutting import apart
    from physplan_photo.objects import Cut

    ys, xs = np.mgrid[:H, :W]
    plate, cup = (xs - 90) ** 2 + (ys - 60) ** 2 < 50**2, (xs - 90) ** 2 + (ys - 60) ** 2 < 20**2
    found = {
        cut.name: cut.mask for cut in apart([Cut("plate", plate, 1.0, "mask"), Cut("cup", cup, 1.0, "mask")])
    }
    assert not (found["plate"] & found["cup"]).any()
    assert (found["plate"] | found["cup"]).sum() == plate.sum()


def test_two_names_for_one_thing_are_refused_in_a_run_too() -> None:
    ys, xs = np.mgrid[:H, :W]
    disk = (xs - 90) ** 2 + (ys - 60) ** 2 < 30**2
    image = torch.where(torch.from_numpy(disk), 0.9, 0.1).expand(3, H, W)
    twice = PhotoSegmenter([Asked("cup", mask=disk), Asked("mug", mask=disk & (xs > 62))])
    with pytest.raises(PhysPlanError, match="are the same part of the picture"):
        twice.segment(image, ["cup", "mug"])
    beside = PhotoSegmenter(
        [Asked("cup", mask=disk), Asked("hole", mask=(xs - 90) ** 2 + (ys - 60) ** 2 < 10**2)]
    )
    assert [one.category for one in beside.segment(image, ["cup", "hole"])] == ["cup", "hole"]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [((0.8, 0.0, 0.5, 0.0), False), ((0.9, 0.0, 0.7, 0.5), True), ((0.0, 1.0, 0.4, 0.4), False)],
    ids=["a cat that fills the picture", "a sky", "head and shoulders"],
)
def test_a_large_thing_is_taken_and_what_spans_the_picture_is_backdrop(
    edges: tuple[float, float, float, float], expected: bool
) -> None:
    """`edges`: how far along the upper, lower, left and right border it reaches."""
    top, bottom, left, right = edges
    mask = np.zeros((H, W), bool)
    mask[5:-5, 5:-5] = True
    mask[:5, : round(top * W)], mask[-5:, : round(bottom * W)] = True, True
    mask[: round(left * H), :5], mask[: round(right * H), -5:] = True, True
    mask[:5, -5:] = mask[-5:, -5:] = right > 0
    assert _is_backdrop(mask) is expected

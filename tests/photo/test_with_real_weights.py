"""The small networks with their real weights on real photographs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.photo.conftest import need, photograph

from physplan.cli import main
from physplan.errors import PhysPlanError
from physplan.pictures import to_tensor
from physplan.video.files import read_video
from physplan_photo.grammar.reasoner import plan_sentence
from physplan_photo.graph.relations import Seen, photo_graph
from physplan_photo.objects import Asked, parse_object


def test_words_find_the_right_thing_and_nothing_where_there_is_none(coffee: Image.Image) -> None:
    need("yolox_nano.onnx")
    from physplan_photo.detector import find_objects

    (mug,) = find_objects(coffee, ["mug", "kitten"])
    assert (mug.name, mug.kind) == ("mug", "cup")
    assert mug.score > 0.8
    assert mug.box.left < 233 < mug.box.right
    (cat,) = find_objects(photograph("chelsea.png"), ["the kitten"])
    assert cat.kind == "cat"
    (lady,) = find_objects(photograph("astronaut.png"), ["lady"])
    assert lady.kind == "person"
    assert find_objects(photograph("rocket.jpg"), ["person", "car"]) == []


def test_a_word_a_click_and_a_box_cut_out_the_same_cup_in_milliseconds(coffee: Image.Image) -> None:
    need("yolox_nano.onnx", "mobile_sam.pt")
    from physplan_photo.cutting import cut_out, iou
    from physplan_photo.mobile_sam.model import mobile_sam

    (named,) = cut_out(coffee, [Asked("cup")])
    assert named.mask.shape == (400, 600)
    assert named.how == "name"
    encoded = mobile_sam().encode(coffee)
    assert mobile_sam().encode(coffee.copy()) is encoded, "a picture is encoded once"
    begun = time.process_time()
    (boxed,) = cut_out(coffee, [parse_object("cup:162,15,422,293")])
    assert time.process_time() - begun < 1.5, "a prompt does not encode the picture again"
    assert iou(named.mask, boxed.mask) > 0.95
    (clicked,) = cut_out(coffee, [parse_object("cup@270,140")])
    assert iou(named.mask, clicked.mask) > 0.9, "a click on the coffee in it, called cup, is the cup's"
    (drink,) = cut_out(coffee, [parse_object("liquid@270,140")])
    assert iou(drink.mask, clicked.mask) < 0.5
    with pytest.raises(PhysPlanError, match="does not know 'rocket'"):
        cut_out(coffee, [Asked("rocket")])
    with pytest.raises(PhysPlanError, match="No 'giraffe' was found"):
        cut_out(coffee, [Asked("giraffe")])
    with pytest.raises(PhysPlanError, match="same part of the picture"):
        cut_out(coffee, [parse_object("cup:162,15,422,293"), parse_object("mug:160,16,424,290")])


def test_what_is_not_in_the_picture_is_said_and_nothing_else_moves(coffee: Image.Image) -> None:
    need("yolox_nano.onnx", "mobile_sam.pt", "u2netp.onnx")
    from physplan_photo.cli.given import _main_object

    with pytest.raises(PhysPlanError, match="No 'giraffe' was found"):
        _main_object("the giraffe walks to the left", coffee, (704, 464))


def test_a_click_on_the_sky_is_said_to_be_background() -> None:
    need("mobile_sam.pt")
    from physplan_photo.cutting import cut_out

    rocket = photograph("rocket.jpg")
    (found,) = cut_out(rocket, [parse_object("rocket@321,150@321,250")])
    assert 0.002 < found.mask.mean() < 0.2
    with pytest.raises(PhysPlanError, match="looks like background"):
        cut_out(rocket, [parse_object("sky@500,100")])
    (cat,) = cut_out(photograph("chelsea.png"), [parse_object("cat@200,150")])
    assert 0.5 < cat.mask.mean() < 0.85, "a large thing that the frame cuts is taken"


def test_a_cup_that_is_pushed_takes_along_the_saucer_below_it(coffee: Image.Image) -> None:
    need("yolox_nano.onnx", "mobile_sam.pt")
    from physplan_photo.segmenter import PhotoSegmenter
    from physplan_photo.stands import dish_of, owner_of

    assert (dish_of("mug"), dish_of("rocket"), owner_of("mug's saucer")) == ("mug's saucer", None, "mug")
    assert owner_of("cat's eye") is None
    found = {
        one.category: one.mask for one in PhotoSegmenter().segment(to_tensor(coffee), ["cup", "cup's saucer"])
    }
    cup, saucer = found["cup"], found["cup's saucer"]
    assert not (cup & saucer).any()
    assert saucer[188, 136]
    assert saucer[240, 440]
    assert not saucer[370, 560], "the table stays"
    seen = [Seen(name, mask.numpy()) for name, mask in found.items()]
    graph, masks = photo_graph(seen)
    _, translations, told = plan_sentence("the cup slides to the left", graph, masks, width=1.5)
    assert {entry.o.split("#")[0] for entry in translations[0].motion} == {"cup", "cup's_saucer"}
    assert "goes with the dish" in told["notes"][0]
    assert PhotoSegmenter().segment(to_tensor(photograph("chelsea.png")), ["cat", "cat's saucer"])[1:] == ()


def test_the_main_object_is_found_unasked_and_a_black_picture_is_refused(coffee: Image.Image) -> None:
    need("u2netp.onnx", "mobile_sam.pt")
    from physplan_photo.cutting import cut_out
    from physplan_photo.salient import main_mask

    assert main_mask(coffee)[190, 233]
    assert not main_mask(coffee)[5, 5]
    with pytest.raises(PhysPlanError, match="one colour throughout"):
        cut_out(Image.new("RGB", (300, 200)))


def test_migan_fills_the_hole_and_touches_nothing_else(coffee: Image.Image) -> None:
    need("migan_pipeline_v2.onnx")
    from physplan_photo.background import complete_background

    hole = np.zeros((400, 600), bool)
    hole[150:200, 480:540] = True
    before = np.asarray(coffee).astype(int)
    after = np.asarray(complete_background(coffee, hole)).astype(int)
    assert (after[~hole] == before[~hole]).all()
    assert (after[hole] != before[hole]).any()
    grey = np.where(hole[..., None], before[~hole].mean(0), before)
    assert ((after - before)[hole] ** 2).mean() < ((grey - before)[hole] ** 2).mean()
    small = coffee.resize((90, 60))
    assert complete_background(small, np.eye(60, 90, dtype=bool)).size == (90, 60)


def test_xfeat_follows_a_shift_and_refuses_gradients(coffee: Image.Image) -> None:
    need("xfeat_256x256.onnx")
    from physplan_photo.xfeat import XFeat

    image = to_tensor(coffee.resize((288, 256)))
    encoder = XFeat.from_pretrained()
    here, moved = encoder(torch.stack([image[:, :, :256], image[:, :, 32:]]))
    same = (here[:, 4:-4, 8:-4] * moved[:, 4:-4, 4:-8]).sum(0).mean()
    other = (here[:, 4:-4, 8:-4] * moved[:, 4:-4, 8:-4]).sum(0).mean()
    assert here.shape == (64, 32, 32)
    assert same > other + 0.1
    with pytest.raises(PhysPlanError, match="no gradient"):
        encoder(image[None].requires_grad_())


def test_the_segmenter_answers_for_prompts_names_and_remembered_pictures(coffee: Image.Image) -> None:
    need("yolox_nano.onnx", "mobile_sam.pt")
    from physplan_photo.segmenter import PhotoSegmenter

    segmenter = PhotoSegmenter(["mug:162,15,422,293"])
    image = to_tensor(coffee)
    found = {one.category: one.mask for one in segmenter.segment(image, ["mug", "giraffe"])}
    assert found.keys() == {"mug"}
    assert found["mug"][190, 233]
    mask = np.zeros((400, 600), bool)
    mask[:10, :10] = True
    segmenter.remember(image, {"mug": [mask]})
    (known,) = segmenter.segment(image, ["mug"])
    assert int(known.mask.sum()) == 100


def test_a_sentence_makes_a_video_and_what_time_to_move_reads(tmp_path: Path) -> None:
    need("mobile_sam.pt", "migan_pipeline_v2.onnx")
    rocket, run, ttm = tmp_path / "rocket.png", tmp_path / "run", tmp_path / "ttm"
    photograph("rocket.jpg").save(rocket)
    sentence = ("--prompt", "the rocket rises", "--object", "rocket@320,240@322,150")
    size = ("--width", "320", "--seconds", "0.4")
    assert main(["photo", str(rocket), *sentence, *size, "-o", str(run), "--export-ttm", str(ttm)]) == 0
    files = (run / "video.mp4", ttm / "motion_signal.mp4", ttm / "mask.mp4")
    made, signal, mask = (read_video(file).frames for file in files)
    assert len(made) == len(signal) == len(mask) == 9
    moved = (signal[-1] - signal[0]).abs().amax(0) > 0.2
    assert moved.any()
    assert mask[-1][0][moved].mean() > 0.8  # what moved is marked
    assert (ttm / "prompt.txt").read_text("utf-8").strip() == "the rocket rises"

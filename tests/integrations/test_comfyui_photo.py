"""A run folder of `physplan photo` in ComfyUI's nodes: its plan, masks and sketch are what the nodes show."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml
from tests.photo.conftest import _weights_folder, need, photograph

from integrations.comfyui import work
from physplan.cli import main
from physplan.pictures import open_picture, to_tensor
from physplan.runs import layout

__all__ = ["_weights_folder"]
SENTENCE = "the rocket rises"
SIZE = {"video.width": 320, "video.height": 208, "video.num_frames": 9}


def test_plan_masks_and_sketch_of_a_photographs_run_are_those_of_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("mobile_sam.pt", "migan_pipeline_v2.onnx")
    picture, run = tmp_path / "rocket.png", tmp_path / "run"
    photograph("rocket.jpg").save(picture)
    given = ("--prompt", SENTENCE, "--object", "rocket@320,240@322,150", "--width", "320", "--seconds", "0.4")
    assert main(["photo", str(picture), *given, "-o", str(run)]) == 0
    objects = yaml.safe_load((run / "config.yaml").read_text("utf-8"))["perception"]["segmenter"]["options"]
    lines = [*(f"{name}={value}" for name, value in SIZE.items()), f"perception.segmenter.options={objects}"]
    frame = to_tensor(open_picture(run / "frame.png")).permute(1, 2, 0)[None]
    kept = layout.load_evidence(run)
    with torch.inference_mode():  # as ComfyUI calls nodes
        scene = work.plan(frame, SENTENCE, "photo", "\n".join(lines))
        scene, _ = work.edit_plan(scene, (run / "plan.json").read_text("utf-8"))
        drawn, _, _ = work.keyframes(scene)
        seen, masks, names = work.evidence(scene, drawn)
        frames, where = work.sketch(scene, seen)
    assert drawn.drawn.images[0].tobytes() == open_picture(run / layout.keyframe(1)).tobytes()
    rows = dict(zip(names.splitlines(), masks > 0.5, strict=True))
    assert torch.equal(rows["first frame: rocket#1"], kept.first.masks["rocket#1"])
    assert torch.equal(rows["keyframe 1: rocket#1"], kept.keyframes[0].masks["rocket#1"])
    shown = layout.load_video(run, layout.EXACT_VIDEO).frames.permute(0, 2, 3, 1)
    assert (frames - shown).abs().max() < 0.01, "the node's sketch is the run's video"
    assert where[-1].mean() > 0.01

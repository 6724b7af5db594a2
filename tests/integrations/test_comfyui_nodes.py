"""What the ComfyUI nodes do, without ComfyUI: the stages over its tensors, equal to the command line's."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import torch
from tests.integrations import comfyui_prompts
from torch import Tensor

from integrations.comfyui import work
from integrations.comfyui.model_files import SINGLE_FILES, Models
from physplan.errors import PhysPlanError
from physplan.graph.errors import GraphError
from physplan.pictures import to_tensor
from physplan.pipeline import PhysPlan
from physplan.pipeline.config_loading import load_config
from physplan_models.published import PUBLISHED
from physplan_sandbox.samples import first_frame, sample

FOLDER = Path(work.__file__).parent
SCENE = sample("ice-tray", 0)
SHORT = """
video.num_inference_steps=4
guided_sketch.schedule={layout_steps: 1, guided_steps: 2, repeats: 1}
"""


def picture() -> Tensor:
    return to_tensor(first_frame(SCENE)).permute(1, 2, 0)[None]


@pytest.fixture(scope="module")
def scene() -> work.Scene:
    with torch.inference_mode():  # as ComfyUI calls nodes
        return work.plan(picture(), SCENE.prompt, "sandbox", SHORT)


@pytest.fixture(scope="module")
def drawn(scene: work.Scene) -> tuple[work.Keyframes, Tensor]:
    with torch.inference_mode():
        found, images, report = work.keyframes(scene)
    assert report.count("Keyframe") == len(scene.chain.events)
    return found, images


def test_a_guided_video_equals_the_command_lines_file_byte_for_byte(
    scene: work.Scene, drawn: tuple[work.Keyframes, Tensor], tmp_path: Path
) -> None:
    told: list[float] = []
    with torch.inference_mode():
        seen, masks, names = work.evidence(scene, drawn[0])
        made = work.generate(
            scene, "guided_sketch", 3, drawn=drawn[0], seen=seen,
            tell=lambda message, *, done=0.0, total=0.0, remaining=None: told.append(total),
        )  # fmt: skip
        work.save(made, tmp_path / "node.mp4")
        verdict, score, sentence = work.verify(scene, made.frames.permute(0, 2, 3, 1), seen)
    settings = {
        "video.num_inference_steps": 4,
        "guided_sketch.schedule": {"layout_steps": 1, "guided_steps": 2, "repeats": 1},
    }
    result = PhysPlan.from_preset("sandbox", **settings).generate(
        first_frame(SCENE), SCENE.prompt, seed=3, output_dir=tmp_path / "run"
    )
    assert (tmp_path / "node.mp4").read_bytes() == (tmp_path / "run" / "video.mp4").read_bytes()
    assert (verdict, sentence) == (result.verdict.verdict, result.verdict.sentence())
    assert 0 <= score <= 1
    assert max(told) > 0, "progress is told"
    assert len(masks) <= len(names.splitlines())


def test_keyframes_of_any_editor_are_taken_and_judged(
    scene: work.Scene, drawn: tuple[work.Keyframes, Tensor]
) -> None:
    found, images, report = work.keyframes(scene, drawn[1])
    assert found.given
    assert torch.equal(images, drawn[1])
    assert "Keyframe 1" in report
    with pytest.raises(PhysPlanError, match="but 1 keyframes are given"):
        work.keyframes(scene, drawn[1][:1])


def test_masks_come_back_changed_and_count(scene: work.Scene, drawn: tuple[work.Keyframes, Tensor]) -> None:
    seen, masks, _ = work.evidence(scene, drawn[0])
    empty = masks.clone()
    empty[0] = 0
    changed, again, _ = work.evidence(scene, drawn[0], empty)
    assert torch.equal(again, masks[1:]), "an empty mask is an object that is not there"
    assert next(iter(seen.first.masks)) not in changed.first.masks
    with pytest.raises(PhysPlanError, match="masks of"):
        work.evidence(scene, drawn[0], masks[:1])
    frames, where = work.sketch(scene, seen)
    assert frames.shape[0] == where.shape[0] == scene.chain.num_frames
    assert frames.shape[-1] == 3


def test_a_plan_edited_by_hand_is_checked(scene: work.Scene) -> None:
    value = json.loads(work.plan_text(scene))
    value["events"][0]["delta"]["fraction"] = 0.1
    edited, notes = work.edit_plan(scene, json.dumps(value))
    assert edited.chain.anchors[0] < scene.chain.anchors[0]
    assert "recomputed" in notes
    assert work.edit_plan(scene, "  ")[0] is scene
    with pytest.raises(GraphError):
        work.edit_plan(scene, '{"events": []}')
    image = work.show_plan(edited)
    assert image.ndim == 4
    assert image.shape[-1] == 3


def test_what_is_missing_or_wrong_is_said_in_a_sentence(scene: work.Scene) -> None:
    with pytest.raises(PhysPlanError, match="connect keyframes and evidence"):
        work.generate(scene, "guided_sketch", 0)
    with pytest.raises(PhysPlanError, match="There is no setting"):
        work.plan(picture(), SCENE.prompt, "sandbox", "video.frames=3")
    with pytest.raises(PhysPlanError, match="The prompt is empty"):
        work.plan(picture(), "", "sandbox")
    with pytest.raises(PhysPlanError, match="Pictures"):
        work.plan(picture()[0], SCENE.prompt, "sandbox")


def test_weights_in_comfyuis_folders_are_found_by_the_presets_names(tmp_path: Path) -> None:
    (tmp_path / "facebook" / "sam3").mkdir(parents=True)
    (tmp_path / "Lightricks--LTX-Video").mkdir()
    (tmp_path / "dinov2-base").mkdir()
    models = Models(folders=[tmp_path / "nothing", tmp_path])
    config = work.with_models(load_config("open"), models)
    assert config.perception.segmenter.options["source"] == str(tmp_path / "facebook" / "sam3")
    assert config.perception.encoder.options["source"] == str(tmp_path / "dinov2-base")
    assert config.perception.depth.options["source"] == "depth-anything/Depth-Anything-V2-Small-hf"
    assert config.video.source == str(tmp_path / "Lightricks--LTX-Video")
    assert work.with_models(load_config("sandbox"), models) == load_config("sandbox")


def test_single_files_of_comfyuis_folders_are_found_by_the_model_that_a_preset_names() -> None:
    there = {
        ("checkpoints", "ltx-video-2b-v0.9.5.safetensors"): "/models/checkpoints/new/ltx.safetensors",
        ("text_encoders", "t5xxl_fp16.safetensors"): "/models/text_encoders/t5.safetensors",
        ("diffusion_models", "wan2.2_i2v_low_noise_14B_fp16.safetensors"): "/models/low.safetensors",
    }
    models = Models(find_file=lambda kind, name: there.get((kind, name)))
    files = work.with_models(load_config("home"), models).video.files
    assert files.transformer == files.vae == "/models/checkpoints/new/ltx.safetensors"
    assert files.text_encoder == "/models/text_encoders/t5.safetensors"
    files = work.with_models(load_config("home", {"video.model": "wan2.2-a14b"}), models).video.files
    assert (files.transformer, files.transformer_2, files.vae) == (None, "/models/low.safetensors", None)
    own = load_config("home", {"video.files.vae": "/mine.safetensors"})
    assert work.with_models(own, models).video.files.vae == "/mine.safetensors"
    paper = load_config("paper")
    assert work.with_models(paper, models) == paper  # there is no single file of its model


def test_a_single_file_is_known_for_no_part_that_its_model_lacks() -> None:
    published = {model.repo: model for model in PUBLISHED.values()}
    for repo, parts in SINGLE_FILES.items():
        assert set(parts) <= {*published[repo].networks, "text_encoder"}, repo


def test_the_pack_names_itself_for_comfyuis_registry() -> None:
    about = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))
    assert about["project"]["dependencies"] == ["physplan"]
    assert about["tool"]["comfy"]["DisplayName"] == "PhysPlan"


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("sandbox", comfyui_prompts.sandbox("ice-tray.png", "")),
        ("edited-plan", comfyui_prompts.edited("ice-tray.png", "", "")),
        ("sketch-into-wan", comfyui_prompts.wan("ice-tray.png", "")),
    ],
)
def test_an_example_is_connected_as_the_workflow_that_was_run(
    name: str, prompt: comfyui_prompts.Prompt
) -> None:
    drawn = json.loads((FOLDER / "example_workflows" / f"{name}.json").read_text("utf-8"))
    kinds = {str(node["id"]): node["type"] for node in drawn["nodes"]}
    assert kinds == {number: node["class_type"] for number, node in prompt.items()}
    inputs = {str(node["id"]): [one["name"] for one in node["inputs"]] for node in drawn["nodes"]}
    found = {(str(b), inputs[str(b)][at], str(a), out) for _, a, out, b, at, _ in drawn["links"]}
    wanted = {
        (number, at, *value)
        for number, node in prompt.items()
        for at, value in node["inputs"].items()
        if isinstance(value, list)
    }
    assert found == wanted

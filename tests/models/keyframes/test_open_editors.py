"""The real diffusers pipelines, tiny and random, from a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers.pipelines.flux2.image_processor import Flux2ImageProcessor
from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit, pipeline_qwenimage_edit_plus
from PIL import Image

from physplan.graph import EventChain
from physplan.keyframes import EditRequest, RenderOptions, RenderSettings, render_keyframes
from physplan.keyframes.registry import EDITORS
from physplan.weights import WeightsError
from physplan_models.keyframes.diffusers import DiffusersEditor
from scenes import ColourSegmenter, row_depth

Folders = Callable[[str], Path]
NAMES = {
    "flux-kontext": "flux_kontext",
    "flux2-klein": "flux2_klein",
    "chronoedit": "chronoedit",
    "qwen-image-edit": "qwen_image_edit",
    "qwen-image-edit-plus": "qwen_image_edit_plus",
}


@pytest.fixture(params=list(NAMES))
def editor(
    request: pytest.FixtureRequest, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> DiffusersEditor:
    # All look at their input at a megapixel, whatever the size of the output: minutes on a CPU.
    options: dict[str, object] = {"num_inference_steps": 2}
    if request.param == "flux-kontext":
        options["_auto_resize"] = False
    elif request.param == "flux2-klein":  # it takes none below 64 pixels a side
        monkeypatch.setattr(Flux2ImageProcessor, "check_image_input", staticmethod(lambda image: image))
    elif request.param == "qwen-image-edit-plus":
        monkeypatch.setattr(pipeline_qwenimage_edit_plus, "CONDITION_IMAGE_SIZE", 64 * 64)
        monkeypatch.setattr(pipeline_qwenimage_edit_plus, "VAE_IMAGE_SIZE", 64 * 64)
    elif request.param == "qwen-image-edit":
        real = pipeline_qwenimage_edit.calculate_dimensions
        monkeypatch.setattr(
            pipeline_qwenimage_edit, "calculate_dimensions", lambda area, ratio: real(64 * 64, ratio)
        )
    return EDITORS.load(request.param).from_pretrained(
        folders(NAMES[request.param]), torch_dtype=torch.float32, area=48 * 64, options=options
    )


@pytest.fixture
def request_(chain: EventChain, first_frame: Image.Image) -> EditRequest:
    return EditRequest(
        image=first_frame, instruction=chain.events[1].instruction, event=1, chain=chain, seed=3
    )


def test_a_drawing_has_the_frames_size_and_its_seed_decides_it(
    editor: DiffusersEditor, request_: EditRequest
) -> None:
    drawn = editor.edit(request_)
    assert drawn.size == request_.image.size
    assert editor.edit(request_).tobytes() == drawn.tobytes()
    assert editor.edit(replace(request_, seed=4)).tobytes() != drawn.tobytes()


def test_the_instruction_and_the_picture_decide_the_drawing(
    editor: DiffusersEditor, request_: EditRequest
) -> None:
    drawn = editor.edit(request_)
    assert editor.edit(replace(request_, instruction="Break the tray.")).tobytes() != drawn.tobytes()
    mirrored = request_.image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    assert editor.edit(replace(request_, image=mirrored)).tobytes() != drawn.tobytes()


def test_an_upright_picture_is_drawn_upright(editor: DiffusersEditor, request_: EditRequest) -> None:
    asked: list[tuple[int, int]] = []
    processor, name = editor.pipeline.image_processor, "postprocess"
    if hasattr(editor.pipeline, "video_processor"):  # ChronoEdit's other one is its picture encoder's
        processor, name = editor.pipeline.video_processor, "postprocess_video"
    real = getattr(processor, name)

    def spy(image: torch.Tensor, **options: object):
        asked.append(tuple(image.shape[-2:]))
        return real(image, **options)

    setattr(processor, name, spy)
    upright = request_.image.resize((96, 128))
    assert editor.edit(replace(request_, image=upright)).size == (96, 128)
    assert asked == [(64, 48)]


def test_it_renders_and_checks_a_whole_chain(
    editor: DiffusersEditor, chain: EventChain, first_frame: Image.Image, tmp_path: Path
) -> None:
    keyframes = render_keyframes(
        chain,
        first_frame,
        editor=editor,
        segmenter=ColourSegmenter(),
        depth=row_depth,
        options=RenderOptions(store=tmp_path),
        settings=RenderSettings(redraws=1),
    )
    assert [keyframe.attempts for keyframe in keyframes] == [2, 2]
    assert all("was not found" in keyframe.report() for keyframe in keyframes)
    assert len(list(tmp_path.glob("*.png"))) == 4
    assert np.asarray(keyframes[0].image).std() > 0


def test_settings_are_part_of_the_identity(editor: DiffusersEditor) -> None:
    other = type(editor)(
        editor.pipeline, area=editor.area, name=editor.name, options={"num_inference_steps": 9}
    )
    assert other.identity != editor.identity


def test_a_folder_without_the_pipeline_is_refused(tmp_path: Path) -> None:
    for name in NAMES:
        with pytest.raises(WeightsError, match=r"Cannot load .* from the folder"):
            EDITORS.load(name).from_pretrained(tmp_path)

"""ChronoEdit, tiny and random: the frames on its way are the sketch's, where the plan acts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import ChronoEditPipeline
from PIL import Image

from physplan.graph import EventChain
from physplan.keyframes import EditRequest
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pictures import to_tensor
from physplan.sketch import make_sketch
from physplan_models.keyframes.chrono_sketch import chrono_sketch, stretched
from physplan_models.keyframes.diffusers import ChronoEditor

OPTIONS = {"torch_dtype": torch.float32, "area": 48 * 64, "options": {"num_inference_steps": 2}}


def seen(chain: EventChain, image: torch.Tensor) -> Evidence:
    depth = torch.full(image.shape[1:], 0.2)
    masks = {}
    for number, id in enumerate(("ice#1", "tray#2")):
        mask = torch.zeros(image.shape[1:], dtype=torch.bool)
        mask[4:14, 4 + 14 * number : 14 + 14 * number] = True
        masks[id] = mask
    one = KeyframeEvidence(image=image, masks=masks, depth=depth)
    return Evidence(first=one, keyframes=(one,) * len(chain.events))


def test_the_way_is_the_librarys_with_every_step_of_it_kept(
    folders: Callable[[str], Path], chain: EventChain, first_frame: Image.Image
) -> None:
    folder = folders("chronoedit")
    editor = ChronoEditor.from_pretrained(folder, way=13, **OPTIONS)
    assert isinstance(editor, ChronoEditor)
    event = chain.events[0]
    request = EditRequest(image=first_frame, instruction=event.instruction, event=1, chain=chain, seed=3)
    found = editor.whole_way(request)
    pipe = ChronoEditPipeline.from_pretrained(folder, dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)
    theirs = pipe(
        image=first_frame, prompt=request.instruction, width=64, height=48, num_frames=13,
        num_inference_steps=2, guidance_scale=5.0, enable_temporal_reasoning=True,
        num_temporal_reasoning_steps=2, generator=torch.Generator().manual_seed(3), output_type="pil",
    ).frames[0]  # fmt: skip
    assert len(found) == len(theirs) == 13
    assert all(
        torch.equal(to_tensor(one), to_tensor(other.resize(one.size, Image.Resampling.LANCZOS)))
        for one, other in zip(found, theirs, strict=True)
    )


def test_the_sketch_has_the_way_where_the_plan_acts_and_nowhere_else(
    folders: Callable[[str], Path], chain: EventChain, first_frame: Image.Image
) -> None:
    evidence = seen(chain, to_tensor(first_frame))
    usual = make_sketch(chain, evidence)
    assert torch.equal(chrono_sketch(chain, evidence).frames, usual.frames)
    found = chrono_sketch(chain, evidence, way=9, source=folders("chronoedit"), **OPTIONS)
    changed = (found.frames != usual.frames).any(1, keepdim=True)
    assert changed.any() == usual.masks[1:].any()
    assert not (changed & ~usual.masks).any()
    assert torch.equal(found.frames[0], usual.frames[0])


def test_a_way_is_stretched_to_the_frames_between_two_states() -> None:
    way = [Image.new("RGB", (4, 4), (k, k, k)) for k in range(9)]
    found = stretched(way, 4)
    assert (255 * found[:, 0, 0, 0]).round().tolist() == [2, 4, 6, 8]
    assert len(stretched(way, 20)) == 20

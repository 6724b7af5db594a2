"""A run folder as the pipeline leaves it, made without models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from physplan.perception import gather_evidence
from physplan.perception.preview import save_previews
from physplan.pictures import to_picture
from physplan.runs import RunFolder
from physplan.video.files import write_video
from scenes import MELTING_FIRST, MELTING_KEYFRAMES, ColourSegmenter, melting_chain, row_depth

HOSTILE = "<script>alert('x')</script> & \"melt\""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose plan, keyframes and evidence are done."""
    folder = RunFolder(tmp_path)
    chain = melting_chain()
    identity = {
        "video.width": 64,
        "video.height": 48,
        "video.model": "cogvideox-5b",
        "video.num_frames": 17,
        "reasoner.model": None,
        "reasoner.name": "sandbox",
    }
    inputs = {"prompt": HOSTILE, "method": "physplan", "seed": 3, "plan": None}
    about = {"inputs": inputs, "identity": identity, "versions": {"physplan": "0"}}
    (tmp_path / "run.json").write_text(json.dumps(about))
    (tmp_path / "config.yaml").write_text("preset: sandbox\n")
    to_picture(MELTING_FIRST).save(tmp_path / "frame.png")
    chain.save(tmp_path / "plan.json")
    (tmp_path / "keyframes").mkdir()
    described = []
    for number, image in enumerate(MELTING_KEYFRAMES, 1):
        to_picture(image).save(tmp_path / f"keyframes/{number}.png")
        described.append(
            {
                "event": number,
                "instruction": HOSTILE,
                "attempts": number,
                "drift": 0.01,
                "problems": [HOSTILE],
            }
        )
    (tmp_path / "keyframes.json").write_text(json.dumps(described))
    evidence = gather_evidence(
        chain, MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=row_depth
    )
    evidence.save(tmp_path / "evidence.safetensors")
    save_previews(evidence, tmp_path / "evidence")
    for stage in ("plan", "keyframes", "evidence"):
        folder.finish(stage, "k", [], seconds=1.5, made_from={}, notes=[HOSTILE])
    return folder


@pytest.fixture
def finished(folder: RunFolder) -> RunFolder:
    """The same run, sampled and decoded."""
    path = folder.path
    events = len(melting_chain().events)
    term = {"term": "count", "objects": [HOSTILE], "value": 0.5, "gradient_norm": 1.0, "skipped": None}
    steps = [
        {
            "step": number,
            "repeat": 0,
            "stage": "layout",
            "update_norm": 1.0,
            "terms": [{**term, "event": event} for event in range(events)],
        }
        for number in range(2)
    ]
    (path / "losses.json").write_text(json.dumps({"ended": "finished", "skipped": {}, "steps": steps}))
    save_file({f"event 1, count of {HOSTILE}": torch.ones(6, 8)}, path / "regions.safetensors")
    frames = MELTING_FIRST[None].repeat(melting_chain().num_frames, 1, 1, 1)
    write_video(path / "video.mp4", frames, fps=8)
    to_picture(MELTING_FIRST).save(path / "strip.png")
    for stage in ("latents", "video"):
        folder.finish(stage, "k", [], seconds=1.5, made_from={})
    return folder

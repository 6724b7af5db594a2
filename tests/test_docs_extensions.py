"""docs/guidance.md and docs/video.md are followed to the letter: a term and a video family are added."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.scenes import MELTING_FIRST, MELTING_KEYFRAMES, ColourSegmenter, melting_chain

from physplan.graph import Update
from physplan.guidance import GuidanceConfig, MeasureConfig, build_objective
from physplan.guidance.measurement import TERMS
from physplan.guidance.objective import measure_frame
from physplan.guidance.paper import selection
from physplan.perception import gather_evidence
from physplan.pictures import to_picture
from physplan.video.protocol import VideoRequest
from physplan.video.sampling import sample
from physplan_models.families import FAMILIES
from physplan_models.loading import LoadOptions, load_video_model
from physplan_models.memory import estimate_folder
from physplan_testing import tiny_skyreels
from physplan_testing.pictures import ColourFeatures, ground_depth

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"<!-- (file: (?P<file>\S+)|run) -->\n```python\n(?P<code>.*?)```", re.DOTALL)


@pytest.fixture
def follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Writes and runs the blocks of a page; what they register is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(FAMILIES, "skyreels", "")
    monkeypatch.setitem(TERMS, "spread", TERMS["position"])

    def run(page: str) -> int:
        blocks = list(BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")))
        for block in blocks:
            if block["file"]:
                Path(block["file"]).write_text(block["code"], encoding="utf-8")
            else:
                exec(compile(block["code"], page, "exec"), {})
        return len(blocks)

    yield run
    sys.modules.pop("skyreels", None)


def test_a_term_is_added_by_the_steps_of_the_page(follow, monkeypatch):
    assert follow("guidance.md") == 1
    known = selection.measure

    class Spread:
        value = "spread"

    spread = Spread()
    monkeypatch.setattr(  # graph/measures.py: the edits that the term measures
        selection, "measure", lambda edit: spread if isinstance(edit, Update) else known(edit)
    )
    chain = melting_chain(17)
    evidence = gather_evidence(
        chain, MELTING_FIRST, MELTING_KEYFRAMES, segmenter=ColourSegmenter(), depth=ground_depth
    )
    config = GuidanceConfig(measure=MeasureConfig())
    objective = build_objective(
        config.losses,
        chain,
        evidence,
        encoder=ColourFeatures(),
        depth=ground_depth,
        size=(32, 32),
        device=torch.device("cpu"),
        config=config.measure,
    )
    frame = torch.nn.functional.interpolate(MELTING_FIRST[None], (32, 32), mode="area")[0].requires_grad_()
    terms = [m for event in (0, 1) for m in measure_frame(objective, event, frame) if m.spec.name == "spread"]
    assert terms
    measured = [m for m in terms if m.value is not None]
    assert measured
    assert all(m.region is not None for m in measured)
    (gradient,) = torch.autograd.grad(torch.stack([m.value for m in measured]).sum(), frame)
    assert gradient.isfinite().all()


def test_a_family_is_added_by_the_steps_of_the_page(follow, tmp_path: Path):
    assert follow("video.md") == 2
    folder = tmp_path / "skyreels"
    pipe = tiny_skyreels.build(folder)

    model = load_video_model(folder, LoadOptions(checkpointing=False))
    assert model.name == "skyreels"
    run = {"height": 32, "width": 32, "num_frames": 9, "num_inference_steps": 2, "guidance_scale": 3.0}
    picture = to_picture(MELTING_FIRST).resize((32, 32))
    conditioning = model.prepare(
        VideoRequest(image=picture, prompt="the ice melts", generator=torch.Generator().manual_seed(1), **run)
    )
    ours = sample(model, conditioning)
    theirs = pipe(
        image=picture,
        prompt="the ice melts",
        negative_prompt="",
        generator=torch.Generator().manual_seed(1),
        output_type="latent",
        **run,
    ).frames
    torch.testing.assert_close(ours, theirs.float(), atol=1e-4, rtol=1e-4)
    z = conditioning.latents.clone().requires_grad_()
    window = conditioning.layout.window(5)
    frame = model.decode_window(model.predict(z, 0, conditioning)[:, :, window.latents], window)
    assert torch.autograd.grad(frame.mean(), z)[0].norm() > 0
    del run["num_inference_steps"]
    assert estimate_folder(folder, dtype="fp32", checkpointing=False, **run).peak > 0

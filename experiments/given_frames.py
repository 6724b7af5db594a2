"""What keyframes given to a model cost: LTX appends their tokens, VACE has them in its own input.

Where LTX is given only what the edits of a keyframe touch, that is as much of it as in the sandbox's
validation scenes, measured on the grid of the preset home. The networks are wider than the tests' own, wide
enough that time goes with the number of tokens.

    python -m experiments.given_frames [--model ltx|vace] [--rounds 9]
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from benchmarks.timed import busy_plan, medians, step_of
from physplan.perception import Evidence, KeyframeEvidence
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.keyframe_places import place_of_edits
from physplan.pipeline.latents_stage import unguided_clocks
from physplan.sketch import make_sketch
from physplan.sketch.start import sketch_start
from physplan.video.keyframe_conditioning import GivenFrame, touched
from physplan.video.protocol import Conditioning, VideoModel, VideoRequest
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_models.loading import LoadOptions, load_video_model
from physplan_sandbox.world.phenomena import scene

GIVEN = {"ltx": "ltx095", "vace": "wan_vace"}
SCENES = range(300, 340)  # of the validation split
CELL, TINY_CELL = 32, 8  # pixels of a token of the real LTX and of the tests' own


def keyframed(name: str, folder: Path) -> tuple[VideoModel, dict[str, Any]]:
    """A model that takes keyframes, with a wider network than the tests' own, and its size of video."""
    from diffusers import LTXVideoTransformer3DModel, WanVACETransformer3DModel

    from physplan_testing import tiny_models

    model = load_video_model(tiny_models.build(GIVEN[name], folder), LoadOptions(dtype="fp32"))
    torch.manual_seed(0)
    known, wide = dict(model.denoiser.config), {"num_attention_heads": 16, "attention_head_dim": 64}
    if name == "ltx":  # tokens to width as in the real one, and the frames of the preset home
        wide |= {"cross_attention_dim": 1024, "num_layers": 1}
        model.denoiser = LTXVideoTransformer3DModel.from_config({**known, **wide})
        return model, {"height": 96, "width": 96, "num_frames": 97}
    model.denoiser = WanVACETransformer3DModel.from_config({**known, **wide, "ffn_dim": 4096})
    return model, {"height": 64, "width": 64, "num_frames": 49}


def without_keyframes(conditioning: Conditioning) -> Conditioning:
    """LTX's run as it would go on if the keyframes were taken away: their tokens are gone."""
    given, layout = conditioning.layout.padding, conditioning.layout
    places, jitter = conditioning.inputs["places"]["video_coords"], conditioning.inputs["jitter"]
    tokens = given * places.shape[-1] // layout.num_latents
    return replace(
        conditioning,
        latents=conditioning.latents[:, :, given:],
        noise=replace(conditioning.noise, frozen=1),  # type: ignore[type-var]
        layout=replace(layout, padding=0),
        inputs={
            **conditioning.inputs,
            "places": {"video_coords": places[..., tokens:]},
            "jitter": [noise[:, tokens:] for noise in jitter],
        },
    )


def share_of_tokens(scenes: range = SCENES) -> float:
    """Of a keyframe's tokens in `home`, the mean share that is given where the edits are."""
    home, sandbox = (with_defaults(load_config(name)) for name in ("home", "sandbox"))
    size = (home.video.height or 0, home.video.width or 0)
    shares = []
    for number in scenes:
        chain, evidence = PreparedScene(scene=scene("validation", number), config=sandbox).drawn(level=1)
        seen = Evidence(
            first=enlarged(evidence.first, size),
            keyframes=tuple(enlarged(frame, size) for frame in evidence.keyframes),
        )
        for event in range(len(chain.events)):
            where = place_of_edits(chain, seen, event, margin=home.editor.check.margin)
            cells = None if where is None else touched(where, (size[0] // CELL, size[1] // CELL))
            shares.append(1.0 if cells is None else float(cells.float().mean()))
    return statistics.mean(shares)


def enlarged(frame: KeyframeEvidence, size: tuple[int, int]) -> KeyframeEvidence:
    """Only what places are made of: masks, and a depth map of their size."""

    def resized(values: Tensor) -> Tensor:
        return F.interpolate(values[None, None].float(), size)[0, 0]

    masks = {name: resized(mask) > 0 for name, mask in frame.masks.items()}
    return replace(frame, masks=masks, depth=resized(frame.depth))


def in_part(given: GivenFrame, share: float, cells: int) -> GivenFrame:
    """A keyframe given in at least this share of its cells x cells tokens: rows from the top."""
    where = torch.arange(cells**2).view(cells, cells) < math.ceil(share * cells**2)
    return replace(given, where=where)


def measure_given(name: str, rounds: int, steps: int = 50) -> None:
    """A video with three keyframes given to the model over an unguided one, from medians of parts."""
    with tempfile.TemporaryDirectory() as folder:
        model, size = keyframed(name, Path(folder) / "model")
        picture = Image.new("RGB", (size["width"], size["height"]))
        last = size["num_frames"] - 1
        keyframes = [GivenFrame(frame=last * k // 3, image=picture) for k in (1, 2, 3)]
        chain, evidence = busy_plan(3, size["num_frames"], (size["height"], size["width"]))
        sketch = make_sketch(chain, evidence)
        wanted: dict[str, list[GivenFrame]] = {"unguided": [], "given": keyframes}
        if name == "ltx":
            share = share_of_tokens()
            wanted["in part"] = [in_part(one, share, size["height"] // TINY_CELL) for one in keyframes]
        prepared = {
            row: model.prepare(
                VideoRequest(
                    image=picture,
                    keyframes=frames,
                    prompt="a ball rolls",
                    num_inference_steps=steps,
                    guidance_scale=3.0,
                    generator=torch.Generator().manual_seed(0),
                    **size,
                )
            )
            for row, frames in wanted.items()
        }
        if name == "ltx":
            prepared["taken away"] = without_keyframes(prepared["given"])
        runs = {row: step_of(model, conditioning) for row, conditioning in prepared.items()}
        runs["sketch"] = partial(sketch_start, model, prepared["given"], sketch)
        median = medians(runs, rounds)
    first = unguided_clocks(Config(), model, conditioned=True).steps(steps)[0]
    rows = {
        "whole keyframes": ("given", 0, steps),
        "whole, from the sketch, family's clocks": ("given", first, steps),
    }
    if name == "ltx":
        own = unguided_clocks(load_config("home"), model, conditioned=True).steps(steps)[0]
        rows |= {
            f"where the edits are ({share:.2f} of them)": ("in part", 0, steps),
            "the same from the sketch, home's clocks": ("in part", own, steps),
            "whole, from the sketch, home's clocks": ("given", own, steps),
            "whole, for a third of the steps": ("given", 0, steps // 3),
            "whole, for half of the steps": ("given", 0, steps // 2),
            "whole, for half, from the sketch": ("given", first, steps // 2),
        }
    print(f"\n{name}, {size['num_frames']} frames, three keyframes given, over unguided, {rounds} rounds")
    print("one part, ms: " + ", ".join(f"{row} {1e3 * seconds:.0f}" for row, seconds in median.items()))
    for row, (given, begin, until) in rows.items():
        total = (until - begin) * median[given] + (steps - until) * median.get("taken away", 0.0)
        total += median["sketch"] if begin else 0.0
        print(f"{row:42}{total / (steps * median['unguided']):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=[*GIVEN, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for name in GIVEN if chosen.model == "all" else [chosen.model]:
        measure_given(name, chosen.rounds)


if __name__ == "__main__":
    main()

"""The verdict against the simulator's judge, on validation scenes: area under the curve, precision, recall.

    python benchmarks/verdict.py --scenes 225:250 --videos base:0 base:1 sketch:0 [--no-keyframes]

Methods are base, sketch and those of physplan.guidance; a seed follows the colon. The editor errs at level 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from physplan.evaluation.sandbox.measure import bystanders
from physplan.evaluation.sandbox.scenes import Setting
from physplan.guidance import guide, method_config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.sampling import prepare
from physplan.sandbox import components
from physplan.sandbox.outcome import judge
from physplan.sandbox.world.phenomena import scene
from physplan.sketch import make_sketch
from physplan.sketch.sampling import sample_from_sketch
from physplan.verify import Perception, Verdict, verify_video
from physplan.video.sampling import sample

LEVEL = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scenes", default="225:250", help="of the validation split")
    parser.add_argument("--videos", nargs="+", default=["base:0", "base:1", "sketch:0"])
    parser.add_argument("--no-keyframes", action="store_true", help="judge by plan and picture alone")
    args = parser.parse_args()
    torch.set_num_threads(1)
    first, last = map(int, args.scenes.split(":"))
    found = list(_cases(range(first, last), args.videos, keyframes=not args.no_keyframes))
    for name in ("all", *dict.fromkeys(entry.split(":")[0] for entry in args.videos)):
        chosen = [(verdict, true) for method, verdict, true in found if name in ("all", method)]
        print(name, summary(*zip(*chosen, strict=True)))


def _cases(numbers: range, videos: list[str], *, keyframes: bool) -> Iterator[tuple[str, Verdict, bool]]:
    eyes = Perception(
        segmenter=components.load_segmenter(),
        depth=components.load_depth(),
        encoder=components.load_encoder(),
    )
    config = with_defaults(load_config("sandbox"))
    for number in numbers:
        here = Setting(scene=scene("validation", number), config=config)
        chain, evidence = here.drawn(LEVEL)
        idle = bystanders(here.scene, here.truth)
        for entry in videos:
            method, _, seed = entry.partition(":")
            frames = make_video(here, method, int(seed or 0))
            truth = judge(here.scene, frames.permute(0, 2, 3, 1).numpy(), uninvolved=idle)
            verdict = verify_video(
                chain,
                frames,
                perception=eyes,
                first_frame=evidence.first.image,
                evidence=evidence if keyframes else None,
            )
            yield method, verdict, truth.plausible and truth.preserved


def make_video(here: Setting, method: str, seed: int) -> Tensor:
    model, config = components.load_video(), here.config
    generator = torch.Generator().manual_seed(seed)
    conditioning = prepare(model, config.video, here.picture, here.scene.prompt, generator)
    if method == "base":
        latents = sample(model, conditioning, generator=generator)
    elif method == "sketch":
        sketch = make_sketch(*here.drawn(LEVEL))
        latents = sample_from_sketch(model, conditioning, sketch, generator=generator)
    else:
        latents = guide(
            model,
            conditioning,
            *here.drawn(LEVEL),
            encoder=components.load_encoder(),
            depth=components.load_depth(),
            config=method_config(method, physplan=config.guidance, frame_guidance=config.frame_guidance),
            generator=generator,
        ).latents
    return model.decode(latents, conditioning.layout)


def summary(verdicts: tuple[Verdict, ...], true: tuple[bool, ...]) -> str:
    scores, right = np.array([v.score for v in verdicts]), np.array(true)
    holds = np.array([v.verdict == "holds" for v in verdicts])
    above = scores[right][:, None] - scores[~right][None]
    area = float(((above > 0) + 0.5 * (above == 0)).mean()) if above.size else float("nan")
    hits = int((holds & right).sum())
    return (
        f"{len(verdicts)} videos, {right.mean():.0%} right: area under the curve {area:.3f}; holds: "
        f"precision {hits / max(holds.sum(), 1):.2f}, recall {hits / max(right.sum(), 1):.2f}"
    )


if __name__ == "__main__":
    main()

"""The sandbox's models on test scenes that no training or tuning has seen: aims and figures.

make bench-sandbox-models            (or: python -m benchmarks.sandbox_models --scenes 50 --only encoder)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch

from benchmarks import sandbox_motion
from benchmarks.sandbox_plans import AIMS, measure_plans, trained_perception
from physplan.guidance.paper.grid import mask_on_grid
from physplan.guidance.paper.occupancy import occupancy, reference_feature, similarity
from physplan.perception import Segmenter
from physplan_bench.sandbox.arms import Arm
from physplan_bench.sandbox.benchmark import SandboxStudy
from physplan_bench.sandbox.making import make_video
from physplan_bench.sandbox.scenes import PreparedScene
from physplan_sandbox.components import load_depth, load_encoder, load_segmenter, load_video
from physplan_sandbox.outcome import judge
from physplan_sandbox.train.data import training_clip
from physplan_sandbox.video import SandboxCodec
from physplan_sandbox.world.phenomena import scene
from physplan_sandbox.world.render import FRAMES, Clip
from physplan_sandbox.world.scene import Scene

LOOKS = (0, 10, 21, 32)  # frames at which pictures are judged


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    aim: str
    met: bool


def at_least(name: str, value: float, bound: float) -> Figure:
    return Figure(name, value, f">= {bound:g}", value >= bound)


def at_most(name: str, value: float, bound: float) -> Figure:
    return Figure(name, value, f"<= {bound:g}", value <= bound)


def between(name: str, value: float, low: float, high: float) -> Figure:
    return Figure(name, value, f"{low:g} to {high:g}", low <= value <= high)


def found_share(drawn: Sequence[sandbox_motion.Drawn]) -> float:
    looks = [look for one in drawn for look in one.found]
    return float(np.mean(looks)) if looks else 0.0


def unseen_scenes(indices: range) -> Iterator[tuple[Scene, Clip]]:
    for index in indices:
        chosen = scene("test", index)
        yield chosen, chosen.render()


def as_images(clip: Clip, frames: tuple[int, ...] = LOOKS) -> torch.Tensor:
    return torch.from_numpy(clip.frames[list(frames)]).permute(0, 3, 1, 2).float() / 255


@torch.no_grad()
def reconstruct(clip: Clip) -> torch.Tensor:
    """[T, 3, H, W] in [0, 1] after the autoencoder."""
    codec = load_video().codec
    assert isinstance(codec, SandboxCodec)
    autoencoder = codec.autoencoder
    video = torch.from_numpy(clip.frames).permute(3, 0, 1, 2)[None].float() / 127.5 - 1
    decoded: torch.Tensor = autoencoder.decode(autoencoder.encode(video))[0]
    return (decoded.transpose(0, 1) / 2 + 0.5).clamp(0, 1)


def autoencoder_figures(scenes: range) -> list[Figure]:
    values = []
    for _, clip in unseen_scenes(scenes):
        error = (reconstruct(clip) - as_images(clip, tuple(range(len(clip.frames))))).square().mean()
        values.append(float(-10 * torch.log10(error)))
    moving = sandbox_motion.moving_psnr([chosen for chosen, _ in unseen_scenes(scenes)])
    worst = min(moving, key=moving.__getitem__)
    return [
        at_least("autoencoder PSNR, dB", float(np.mean(values)), 31.0),
        at_least("the same, moving pixels", float(np.mean(list(moving.values()))), 29.0),
        at_least(f"the same, worst phenomenon ({worst})", moving[worst], 26.0),
    ]


def iou(a: np.ndarray, b: np.ndarray) -> float:
    union = (a | b).sum()
    return float((a & b).sum() / union) if union else 1.0


def best_iou(segmenter: Segmenter, image: torch.Tensor, category: str, truth: np.ndarray) -> float:
    found = segmenter.segment(image, [category])
    return max((iou(f.mask.numpy(), truth) for f in found), default=0.0)


def visible_objects(
    chosen: Scene, clip: Clip, frame: int, smallest: int = 12
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Key, category and mask of the objects that a picture shows."""
    categories = {s.object: s.category for s in chosen.sprites()}
    for key, category in categories.items():
        if key in clip.names:
            mask = clip.mask(key, frame)
            if mask.sum() >= smallest:
                yield key, category, mask


def segmenter_figures(scenes: range) -> list[Figure]:
    segmenter, clean = load_segmenter(), []
    for chosen, clip in unseen_scenes(scenes):
        for picture, frame in zip(as_images(clip), LOOKS, strict=True):
            for _, category, mask in visible_objects(chosen, clip, frame):
                clean.append(best_iou(segmenter, picture, category, mask))
    return [at_least("segmenter mean IoU, clean frames", float(np.mean(clean)), 0.85)]


@torch.no_grad()
def depth_figures(scenes: range) -> list[Figure]:
    depth, right = load_depth(), []
    for chosen, clip in unseen_scenes(scenes):
        maps = depth(as_images(clip)).numpy()
        for k, frame in enumerate(LOOKS):
            objects = list(visible_objects(chosen, clip, frame))
            for (_, _, a), (_, _, b) in combinations(objects, 2):
                truth = clip.depth[frame][a].mean() - clip.depth[frame][b].mean()
                if abs(truth) > 0.03:
                    right.append((maps[k][a].mean() > maps[k][b].mean()) == (truth > 0))
    return [at_least("depth order right", float(np.mean(right)), 0.95)]


@torch.no_grad()
def encoder_figures(scenes: range, threshold: float = 0.5, temperature: float = 0.1) -> list[Figure]:
    """Eq. 4-5: the reference from the clean frame's mask, looked for in the clean and in the decoded
    frame."""
    encoder = load_encoder()
    scores: dict[str, list[float]] = {"clean": [], "decoded": []}
    for chosen, clip in unseen_scenes(scenes):
        clean, decoded = encoder(as_images(clip)), encoder(reconstruct(clip)[list(LOOKS)])
        for k, frame in enumerate(LOOKS):
            for _, _, mask in visible_objects(chosen, clip, frame):
                cells = mask_on_grid(torch.from_numpy(mask), (clean.shape[-2], clean.shape[-1]))
                reference = reference_feature(clean[k], cells)
                for name, features in (("clean", clean[k]), ("decoded", decoded[k])):
                    found = occupancy(
                        similarity(features, reference[None])[0], threshold=threshold, temperature=temperature
                    )
                    scores[name].append(iou((found > 0.5).numpy(), (cells > 0.5).numpy()))
    return [at_least(f"encoder occupancy IoU, {n} frames", float(np.mean(v)), 0.6) for n, v in scores.items()]


def plan_figures(scenes: range) -> list[Figure]:
    tally = measure_plans([chosen for chosen, _ in unseen_scenes(scenes)], trained_perception)
    return [at_least(name, tally.share(name), aim) for name, aim in AIMS.items()]


@dataclass(frozen=True)
class Looked:
    """What became of a scene in one video."""

    plausible: bool
    kept: list[float]  # IoU at the end of the objects that nothing happens to
    drawn: sandbox_motion.Drawn


def look_at(chosen: Scene, clip: Clip, video: np.ndarray, segmenter: Segmenter) -> Looked:
    shown = torch.from_numpy(video[-1]).permute(2, 0, 1).float() / 255
    kept = [
        best_iou(segmenter, shown, category, mask)
        for key, category, mask in visible_objects(chosen, clip, FRAMES - 1)
        if key in chosen.distractors and iou(mask, clip.mask(key, 0)) > 0.95
    ]
    floats = video / np.float32(255)
    return Looked(judge(chosen, floats).plausible, kept, sandbox_motion.drawn(chosen, floats, segmenter))


def video_figures(scenes: range) -> list[Figure]:
    """The base model as the preset samples it; and true clips of the same scenes such as it learnt from, some
    of them meddled with: what a perfect model of those would reach."""
    segmenter, config = load_segmenter(), SandboxStudy.of_preset().config
    seconds, made, true = [], [], []
    for chosen, clip in unseen_scenes(scenes):
        begun = time.perf_counter()
        video = make_video(PreparedScene(scene=chosen, config=config), Arm(name="base"), seed=0)
        seconds.append(time.perf_counter() - begun)
        made.append(look_at(chosen, clip, video, segmenter))
        learnt, _ = training_clip(chosen.index, split=chosen.split)
        true.append(look_at(chosen, clip, learnt.frames, segmenter))
    of_made, of_true = drawn_figures(made), drawn_figures(true)
    static, found, edges = (f"    {name} in true clips" for name in ("the same,", "found", "edges"))
    return [
        between("base video model: plausible", float(np.mean([one.plausible for one in made])), 0.1, 0.6),
        at_least("static objects' IoU in generated frames", of_made[0], 0.85),
        Figure(static, of_true[0], "no aim", True),
        at_least("moving objects found, clear videos", of_made[1], 0.85),
        Figure(found, of_true[1], "no aim", True),
        between("edge energy where things move / the truth's", of_made[2], 0.8, 1.2),
        Figure(edges, of_true[2], "no aim", True),
        Figure("clear videos", float(np.mean([one.drawn.clear for one in made])), "no aim", True),
        at_most("seconds per unguided video", float(np.median(seconds)), 4.0),
        at_most("megabytes of weights", sandbox_motion.weights_megabytes(), 40.0),
    ]


def drawn_figures(videos: Sequence[Looked]) -> tuple[float, float, float]:
    """Static objects' IoU, the share of moving ones that are found, and the energy of edges."""
    kept = [value for one in videos for value in one.kept]
    edges = [one.drawn.edges for one in videos if one.drawn.edges is not None]
    return float(np.mean(kept)), found_share([one.drawn for one in videos]), float(np.mean(edges))


def speed_figures(scenes: range) -> list[Figure]:
    model = load_video()
    layout = model.check_size(height=96, width=96, num_frames=FRAMES)
    latents = torch.randn(1, model.latent_channels, layout.num_latents, 12, 12)
    window = layout.window(14, model.preview_length)
    times = []
    with torch.no_grad():
        for _ in range(max(len(scenes), 20)):
            begun = time.perf_counter()
            model.decode_window(latents[:, :, window.latents], window)
            times.append(1000 * (time.perf_counter() - begun))
    whole, loads = [], []
    for _ in range(3):
        begun = time.perf_counter()
        loads.append(float(subprocess.check_output([sys.executable, "-c", LOAD])))
        whole.append(time.perf_counter() - begun)
    return [
        at_most("milliseconds per decoded window", float(np.median(times)), 30.0),
        at_most("seconds to load the preset and its models", float(np.median(loads)), 3.0),
        Figure("the same, with Python and its libraries", float(np.median(whole)), "no aim", True),
    ]


# In a process of its own, as a user meets it.
LOAD = """
import time
from physplan import PhysPlan
from physplan_sandbox import components as parts
begun = time.perf_counter()
PhysPlan.from_preset("sandbox")
for load in (parts.load_video, parts.load_encoder, parts.load_segmenter, parts.load_depth):
    load()
print(time.perf_counter() - begun)
"""


PARTS: dict[str, Callable[[range], list[Figure]]] = {
    "autoencoder": autoencoder_figures,
    "segmenter": segmenter_figures,
    "depth": depth_figures,
    "encoder": encoder_figures,
    "plans": plan_figures,
    "speed": speed_figures,
    "video": video_figures,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=50, help="test scenes per part")
    parser.add_argument("--first", type=int, default=sandbox_motion.FIRST, help="the first test scene")
    parser.add_argument("--only", choices=PARTS, action="append", help="only these parts")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(f"{'figure':44s} {'measured':>9s}   aim")
    for part in args.only or PARTS:
        for figure in PARTS[part](range(args.first, args.first + args.scenes)):
            mark = "" if figure.met else "   MISSED"
            print(f"{figure.name:44s} {figure.value:9.3f}   {figure.aim}{mark}", flush=True)


if __name__ == "__main__":
    main()

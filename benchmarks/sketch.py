"""What a sketch and its verdict cost: CPU seconds and memory by size, frames, objects and events.

    make bench-sketch        or        python -m benchmarks.sketch [--quick]

Each row runs in a process of its own on one thread. The scene: discs on a textured ground go from place to
place; keyframes are shifted by two pixels and tinted, as editors do. The verdict is without its encoder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from physplan.graph import Edge, EventChain, Link, Node, PhysicalDelta, StateChange, StateGraph, Unlink
from physplan.perception import Evidence, KeyframeEvidence
from physplan.sketch import make_sketch
from physplan.verify import verify_video

SIZES = ((96, 96), (256, 256), (512, 352), (704, 480), (1280, 720))


@dataclass(frozen=True, kw_only=True)
class Row:
    width: int = 704
    height: int = 480
    frames: int = 49
    objects: int = 2  # that move
    events: int = 3


class Ahead:
    """An encoder that costs nothing: the verdict's own part is measured."""

    def __call__(self, frames: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(frames, 4)


class Blind:
    encoder = Ahead()

    @property
    def segmenter(self) -> object:
        raise AssertionError("a verdict with keyframes segments nothing")

    depth = segmenter


def scene(row: Row) -> tuple[EventChain, Evidence]:
    ids = [f"ball#{k + 1}" for k in range(row.objects)]
    nodes = [Node(id, "ball") for id in ids] + [Node("post#99", "post")]
    graph = StateGraph(nodes, [Edge(id, "left of", "post#99") for id in ids])
    edits = [
        [(Unlink if event % 2 == 0 else Link)(id, "left of", "post#99") for id in ids]
        for event in range(row.events)
    ]
    deltas = [
        PhysicalDelta(tuple(StateChange(id, "elsewhere", "a push") for id in ids), 0.9 / row.events)
        for _ in range(row.events)
    ]
    chain = EventChain.build(
        prompt="balls go", num_frames=row.frames, graph=graph, deltas=deltas, edits=edits
    )
    return chain, Evidence(
        first=_picture(row, ids, 0), keyframes=tuple(_picture(row, ids, k + 1) for k in range(row.events))
    )


def _picture(row: Row, ids: list[str], state: int) -> KeyframeEvidence:
    h, w = row.height, row.width
    noise = torch.Generator().manual_seed(0)
    coarse, fine = torch.rand(1, 3, 12, 16, generator=noise), torch.rand(3, h, w, generator=noise)
    image = 0.3 + 0.4 * F.interpolate(coarse, (h, w), mode="bicubic", align_corners=False)[0] + 0.05 * fine
    ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
    masks: dict[str, Tensor] = {}
    for k, id in enumerate(ids):
        x = w * (0.15 + 0.6 * ((state + k / 3) % 3) / 3)
        y = h * (0.25 + 0.55 * (k + 0.5) / len(ids))
        masks[id] = torch.hypot(xs - x, ys - y) < h * 0.35 / max(3, len(ids))
        image[:, masks[id]] = torch.tensor([0.9, 0.2 + 0.1 * (k % 4), 0.1])[:, None]
    post = torch.zeros(h, w, dtype=torch.bool)
    post[h // 2 :, w - w // 12 :] = True
    image[:, post] = torch.tensor([0.15, 0.2, 0.4])[:, None]
    depth = ys / h
    if state:
        image = (image.roll((2, -2), (1, 2)) ** 1.1 * torch.tensor([1.0, 0.97, 0.95])[:, None, None]).clamp(
            0, 1
        )
        masks = {id: mask.roll((2, -2), (0, 1)) for id, mask in masks.items()}
        post = post.roll((2, -2), (0, 1))
    return KeyframeEvidence(image=image.clamp(0, 1), masks={**masks, "post#99": post}, depth=depth)


def measure(row: Row) -> dict[str, float]:
    torch.set_num_threads(1)
    make_sketch(*scene(Row(width=64, height=64, frames=9)))  # imports and kernels are loaded
    chain, evidence = scene(row)
    before, start = _peak(), time.process_time()
    sketch = make_sketch(chain, evidence)
    drawn = time.process_time()
    memory = _peak() - before
    verify_video(chain, sketch.frames, evidence=evidence, perception=Blind())  # type: ignore[arg-type]
    return {"sketch": drawn - start, "verdict": time.process_time() - drawn, "memory": memory}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB on Linux


def _in_a_process(row: Row) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.sketch", "--row", json.dumps(asdict(row))]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="by size alone")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.row:
        print(json.dumps(measure(Row(**json.loads(args.row)))))
        return
    rows = [Row(width=w, height=h) for w, h in SIZES]
    if not args.quick:
        rows += [Row(frames=n) for n in (25, 97)] + [Row(objects=n) for n in (1, 4, 8)]
        rows += [Row(events=n) for n in (1, 2, 5)]
    print(
        f"{'size':>10} {'frames':>6} {'objects':>7} {'events':>6} {'sketch s':>9} {'verdict s':>9} {'MB':>6}"
    )
    times: list[tuple[int, float]] = []
    for row in rows:
        found = _in_a_process(row)
        if row in rows[: len(SIZES)]:
            times.append((row.width * row.height, found["sketch"]))
        size = f"{row.width}x{row.height}"
        print(
            f"{size:>10} {row.frames:6} {row.objects:7} {row.events:6} "
            f"{found['sketch']:9.2f} {found['verdict']:9.2f} {found['memory']:6.0f}",
            flush=True,
        )
    (few, short), (many, long) = times[2], times[-1]
    print(
        f"from 512x352 to 1280x720 the sketch grows with pixels to the power "
        f"{math.log(long / short) / math.log(many / few):.2f}"
    )


if __name__ == "__main__":
    main()

"""The sampling stage: prepared, guided, watched; its latents are on disk before anything is decoded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from physplan.files import atomic_path, write_json
from physplan.graph import EventChain
from physplan.guidance import GuidanceConfig, Progress, TermRecord, guide, method_config
from physplan.perception import Evidence
from physplan.perception.images import to_picture
from physplan.pipeline.config import VideoConfig
from physplan.pipeline.events import RunEvent
from physplan.pipeline.forecast import memory_needed
from physplan.pipeline.run import Run
from physplan.runs import layout
from physplan.video.decoding import save_latents
from physplan.video.protocol import Conditioning, VideoModel
from physplan.video.sampling import sample
from physplan.video.sheets import Frames, contact_sheet

PREVIEW_EVERY = 2.0  # seconds between two previews on disk, or twenty times what one takes


def prepare(
    model: VideoModel, video: VideoConfig, image: Image.Image, prompt: str, generator: torch.Generator
) -> Conditioning:
    """A run with the settings of a settled config."""
    return model.prepare(
        image=image,
        prompt=prompt,
        negative_prompt=video.negative_prompt,
        height=video.height or 0,
        width=video.width or 0,
        num_frames=video.num_frames or 0,
        num_inference_steps=video.num_inference_steps or 0,
        guidance_scale=video.guidance_scale or 1.0,
        use_dynamic_cfg=bool(video.use_dynamic_cfg),
        eta=video.eta or 0.0,
        fps=video.fps,
        generator=generator,
    )


def make_latents(run: Run) -> tuple[list[Path], list[str]]:
    video = run.config.video
    generator = torch.Generator().manual_seed(run.inputs.seed)
    needed = memory_needed(run)
    run.report("latents", "loading the video model" + (f", memory {needed}" if needed else ""))
    conditioning = prepare(run.backends.video, video, run.frame, run.inputs.prompt, generator)
    path, losses = run.folder / layout.LATENTS, run.folder / layout.LOSSES
    if not run.guided:
        latents = _unguided(run, conditioning, generator)
        save_latents(path, latents, conditioning.layout)
        write_json(losses, {"ended": "finished", "skipped": {}, "steps": []})
        return [path, losses], []
    chain = layout.load_plan(run.folder.path)
    evidence = layout.load_evidence(run.folder.path)
    config = guidance_of(run)
    progress = SamplingProgress(run, config, conditioning, chain, evidence)
    result = guide(
        run.backends.video,
        conditioning,
        chain,
        evidence,
        encoder=run.backends.encoder,
        depth=run.backends.depth,
        config=config,
        generator=generator,
        on_progress=progress,
    )
    save_latents(path, result.latents, conditioning.layout)
    write_json(losses, result.to_json())
    regions = run.folder / layout.REGIONS
    with atomic_path(regions) as temporary:
        save_file(
            {label: region.float().contiguous() for label, region in progress.regions.items()}, temporary
        )
    notes = [] if result.ended == "finished" else [f"sampling was {result.ended}"]
    notes += [f"{what} ({times} times)" for what, times in result.skipped().items()]
    return [path, losses, regions], notes


def guidance_of(run: Run) -> GuidanceConfig:
    return method_config(
        run.inputs.method, physplan=run.config.guidance, frame_guidance=run.config.frame_guidance
    )


def _unguided(run: Run, conditioning: Conditioning, generator: torch.Generator) -> Tensor:
    total = conditioning.noise.num_steps
    clock = Clock(repeats=0, steps=total)

    def tell(n: int, latents: Tensor, clean: Tensor) -> None:
        clock.tick("step")
        run.on_event(
            RunEvent(
                stage="latents",
                kind="progress",
                done=n + 1,
                total=total,
                remaining=clock.remaining(),
                message=f"step {n + 1} of {total}",
            )
        )

    return sample(run.backends.video, conditioning, tell, generator=generator)


class SamplingProgress:
    """Sees every repeat and step: tells what is done and left, keeps the regions, refreshes the preview."""

    def __init__(
        self,
        run: Run,
        config: GuidanceConfig,
        conditioning: Conditioning,
        chain: EventChain,
        evidence: Evidence,
    ) -> None:
        self.run, self.chain, self.evidence = run, chain, evidence
        self.steps = conditioning.noise.num_steps
        self.repeats = sum(config.schedule.at(n) for n in range(self.steps))
        self.clock = Clock(repeats=self.repeats, steps=self.steps)
        self.layout = conditioning.layout
        self.regions: dict[str, Tensor] = {}
        self.previews: dict[int, Tensor] = {}
        self.terms: tuple[TermRecord, ...] = ()
        self._next_preview = 0.0

    def __call__(self, seen: Progress) -> None:
        self.clock.tick("step" if seen.repeat is None else "repeat")
        self.regions |= {label: one.detach().cpu() for label, one in seen.regions.items() if one is not None}
        self.previews |= seen.previews
        self.terms = seen.terms or self.terms
        self._refresh(seen)
        self.run.on_event(
            RunEvent(
                stage="latents",
                kind="progress",
                done=self.clock.done,
                total=self.repeats + self.steps,
                remaining=self.clock.remaining(),
                message=f"step {seen.step + 1} of {self.steps} ({seen.stage}){_values(self.terms)}",
            )
        )

    def _refresh(self, seen: Progress) -> None:
        """preview.png: the keyframes, and what the video shows at their frames by now."""
        now = time.monotonic()
        if now < self._next_preview:
            return
        if not seen.previews and seen.repeat is None:
            self.previews = self._decode(seen.clean)
        if not self.previews:
            return
        first = to_picture(self.evidence.first.image)
        wanted = [first, *(to_picture(one.image) for one in self.evidence.keyframes)]
        events = range(len(self.chain.events))
        now_shown: list[Image.Image | None] = [
            to_picture(self.previews[i]) if i in self.previews else None for i in events
        ]
        rows: list[tuple[str, Frames]] = [
            ("keyframes", wanted),
            (f"at step {seen.step + 1} of {self.steps}", [first, *now_shown]),
        ]
        contact_sheet(rows, self.run.folder / layout.PREVIEW, columns=len(wanted), title=self.chain.prompt)
        took = time.monotonic() - now
        self._next_preview = now + max(PREVIEW_EVERY, 20 * took)

    @torch.no_grad()
    def _decode(self, clean: Tensor) -> dict[int, Tensor]:
        model = self.run.backends.video
        windows = [
            self.layout.window(anchor, model.preview_length, model.preview_mode)
            for anchor in self.chain.anchors
        ]
        return {i: model.decode_window(clean[:, :, w.latents], w) for i, w in enumerate(windows)}


class Clock:
    """The time left, from the mean time of a guided repeat and of a plain step."""

    def __init__(self, *, repeats: int, steps: int) -> None:
        self._left = {"repeat": repeats, "step": steps}
        self._spent = {"repeat": 0.0, "step": 0.0}
        self._count = {"repeat": 0, "step": 0}
        self._last = time.monotonic()

    @property
    def done(self) -> int:
        return sum(self._count.values())

    def tick(self, kind: str) -> None:
        now = time.monotonic()
        self._spent[kind] += now - self._last
        self._count[kind] += 1
        self._last = now

    def remaining(self) -> float | None:
        means: Mapping[str, float] = {
            kind: self._spent[kind] / count for kind, count in self._count.items() if count
        }
        if not means:
            return None
        guess = max(means.values())
        return sum(
            max(0, self._left[kind] - self._count[kind]) * means.get(kind, guess) for kind in self._left
        )


def _values(terms: tuple[TermRecord, ...]) -> str:
    """The mean of each kind of term, for the line of progress."""
    kinds: dict[str, list[float]] = {}
    for term in terms:
        if term.value is not None:
            kinds.setdefault(term.term, []).append(term.value)
    found = ", ".join(f"{kind} {sum(values) / len(values):.3f}" for kind, values in kinds.items())
    return f": {found}" if found else ""

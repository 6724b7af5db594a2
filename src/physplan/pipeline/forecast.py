"""What a run would do, cost and need, without doing it (`--dry-run`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from physplan.calls.cost_estimate import CostEstimate, estimate_cost
from physplan.graph import EventChain
from physplan.keyframes.registry import EDITORS
from physplan.machine import Missing
from physplan.methods import Method
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import with_defaults
from physplan.pipeline.run import Run, recorded_settings
from physplan.pipeline.stage_keys import deciding_settings
from physplan.presets import PRESETS
from physplan.reasoning.recheck import to_rewrite
from physplan.reasoning.registry import REASONERS
from physplan.runs import layout
from physplan.video.known import ServedVideoModel, video_model

if TYPE_CHECKING:
    from physplan.video.memory import MemoryEstimate, MemoryRequest

USUAL_EVENTS = 3


@dataclass(frozen=True, kw_only=True)
class Work:
    stage: str
    what: str
    done: bool
    calls: int = 0
    usd: float | None = 0.0  # None: the price is not known


@dataclass(frozen=True, kw_only=True)
class Forecast:
    work: tuple[Work, ...]
    events: int
    known_events: bool
    memory: MemoryEstimate | None  # of the sampling
    stages: Mapping[str, float] = field(default_factory=dict)  # GB on a GPU, where a preset is used as it is
    missing: tuple[Missing, ...] = ()  # here, of what the run needs
    wanted: tuple[Missing, ...] = ()  # fetched by the run itself, or a GPU that it can do without

    @property
    def calls(self) -> int:
        return sum(item.calls for item in self.work)

    @property
    def usd(self) -> float | None:
        prices = [item.usd for item in self.work]
        return None if None in prices else sum(price or 0.0 for price in prices)


def forecast(run: Run, *, with_memory: bool = True) -> Forecast:
    """The number of events is known once there is a plan; before that, the usual number is assumed."""
    chain = run.plan or _planned(run)
    events = len(chain.events) if chain else USUAL_EVENTS
    before = recorded_settings(run) or {}
    work = []
    for stage in run.stages:
        wanted = deciding_settings(run.config, run.inputs, stage)
        same = all(before.get(name, before) == value for name, value in wanted.items())
        done = same and run.folder.record(stage) is not None
        work.append(_work(run, stage, events, done))
    return Forecast(
        work=tuple(work),
        events=events,
        known_events=chain is not None,
        memory=memory_needed(run, events) if with_memory else None,
        stages=preset_stages(run),
    )


def check_fits(run: Run) -> None:
    """Refuse a size that the model cannot make and a run that cannot fit, before anything is paid for."""
    video_model(run.config.video.model).check_size(run.config.video)
    if (needed := memory_needed(run)) is not None:
        import torch

        from physplan.video.memory import require_memory

        require_memory(needed, torch.device(run.config.runtime.device))


def _planned(run: Run) -> EventChain | None:
    path = run.folder / layout.PLAN
    return EventChain.load(path) if path.exists() else None


def _work(run: Run, stage: str, events: int, done: bool) -> Work:
    config, video = run.config, run.config.video
    prices, cost = config.runtime.prices, CostEstimate()
    if stage == "plan":
        what = f"a plan of about {events} events, by {config.reasoner.model or config.reasoner.name}"
        if run.plan is not None:
            what, cost = _given_plan(run, run.plan)
        else:
            asked, by = config.reasoner, REASONERS.load(config.reasoner.name)
            cost = estimate_cost(by, events, model=asked.model, base_url=asked.base_url, prices=prices)
    elif stage == "keyframes":
        model = config.editor.options.get("model") or config.editor.options.get("source")
        redraws = config.editor.redraws
        what = f"{events} keyframes by {model or config.editor.name}, at most {redraws} redraws each"
        if run.keyframes is not None:
            what = "the given keyframes, checked"
        else:
            drawn, by = config.editor, EDITORS.load(config.editor.name)
            size = str(drawn.options.get("image_size", "1K"))
            cost = estimate_cost(by, events, model=model, base_url=drawn.base_url, prices=prices, size=size)
    elif stage == "evidence":
        seen = config.perception
        what = f"masks by {seen.segmenter.name} and depth by {seen.depth.name} of {events + 1} pictures"
    elif stage == "latents":
        steps = video.sampling.num_inference_steps
        guidance = run.guidance
        repeats = sum(guidance.schedule.at(n) for n in range(steps)) if guidance else 0
        most = "at most " if guidance and guidance.until == "satisfied" else ""
        what = f"{steps} steps of {video.model} with {most}{repeats} guided repeats, seed {run.inputs.seed}"
        if run.method.conditioned:
            what = f"{steps} steps of {video.model}, given the keyframes, seed {run.inputs.seed}"
        if run.inputs.attempts > 1:
            what += f", at most {run.inputs.attempts} attempts"
    elif stage == "sketch":
        what = "the plan as a crude animation"
    elif stage == "verdict":
        what = "the video held against the plan" if run.planned else "nothing: there is no plan to check by"
    elif isinstance(model := video_model(video.model), ServedVideoModel):
        what, cost = model.served_work(run, events)
    else:
        what = f"{video.num_frames} frames of {video.width} x {video.height} at {video.fps} per second"
    cost = CostEstimate() if done else cost
    return Work(stage=stage, what=what, done=done, calls=cost.calls, usd=cost.usd)


def _given_plan(run: Run, chain: EventChain) -> tuple[str, CostEstimate]:
    """A given plan is verified; each instruction that is not of its edits is rewritten, maybe by a call."""
    from physplan.pipeline.requirements import can_reason

    asked, asks = run.config.reasoner, can_reason(run.config)
    if not (count := to_rewrite(chain, asks=asks)):
        return "the given plan, verified", CostEstimate()
    calls_out = getattr(REASONERS.load(asked.name), "calls_out", None) if asks else None
    by = asked.model or asked.name if calls_out else "rules"
    what = f"the given plan, verified; instructions rewritten by {by}: {count}"
    if calls_out is None:
        return what, CostEstimate()
    each = replace(calls_out, calls=lambda events: events)
    return what, each.forecast(
        count, model=asked.model, base_url=asked.base_url, prices=run.config.runtime.prices
    )


def preset_stages(run: Run) -> Mapping[str, float]:
    """The preset's own figures, where nothing that decides them was changed; else {}."""
    config, needs = run.config, PRESETS.get(run.config.preset)
    if needs is None or not needs.stages or run.inputs.method != config.method:
        return {}
    own = with_defaults(load_config(config.preset))
    same = all(
        getattr(config, part) == getattr(own, part)
        for part in ("method", "video", "perception", "editor", "guidance", "guided_sketch", "conditioned")
    )
    kept = ("keep_models", "encoders", "offload", "checkpointing", "keep_encoders")
    same = same and all(getattr(config.runtime, name) == getattr(own.runtime, name) for name in kept)
    return needs.stages if same else {}


def memory_request(config: Config, method: Method, events: int) -> MemoryRequest:
    """What the memory of a sampling depends on, beside the video model."""
    from physplan.video.memory import MemoryRequest

    video, runtime, clip = config.video, config.runtime, config.video.clip
    return MemoryRequest(
        height=clip.height,
        width=clip.width,
        num_frames=clip.num_frames,
        guidance_scale=video.sampling.guidance_scale,
        gradient_mode=method.gradient(config),
        anchors=events,
        keyframes=events if method.conditioned else 0,
        clip=method.encodes_clip(config),
        checkpointing=runtime.checkpointing,
        offload=runtime.offload,
        tiling=runtime.tiling,
        quantisation=video.quantisation,
        attention=video.attention,
        eta=video.sampling.eta,
        tiny_decoder=(found := method.guidance(config)) is not None and found.decoder == "tiny",
        use_dynamic_cfg=video.sampling.use_dynamic_cfg,
    )


def memory_needed(run: Run, events: int = USUAL_EVENTS) -> MemoryEstimate | None:
    """None where that is nothing to speak of."""
    if "latents" not in run.stages:
        return None
    video = run.config.video
    needed = video_model(video.model).memory(video, memory_request(run.config, run.method, events))
    elsewhere = needed is not None and run.config.runtime.encoders == "cpu"
    return replace(needed, encoders=0) if needed is not None and elsewhere else needed

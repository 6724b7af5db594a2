"""What a run needs and this machine lacks, all of it at once, before anything is loaded, paid or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from physplan import machine
from physplan.calls.cost_estimate import CallsOut
from physplan.calls.named import connect_named
from physplan.calls.providers import find_provider
from physplan.errors import PhysPlanError
from physplan.extras import install_command
from physplan.guidance.losses import check_losses
from physplan.keyframes.registry import EDITORS
from physplan.machine import Missing
from physplan.perception.registry import DEPTH_ESTIMATORS, ENCODERS, SEGMENTERS
from physplan.pipeline.config import Config
from physplan.pipeline.config_loading import load_config
from physplan.pipeline.defaults import check_device
from physplan.pipeline.forecast import check_fits, preset_stages
from physplan.pipeline.run import Run
from physplan.presets import PRESETS, WEIGHTS
from physplan.reasoning.registry import REASONERS
from physplan.registry import Registry
from physplan.runs import layout
from physplan.video.known import ServedVideoModel, video_model


def require(run: Run, *, upto: layout.StageName | None = None) -> None:
    """Refuse a run that cannot end well here, with everything that it lacks."""
    check_names(run.config)
    todo = stages_to_do(run, upto)
    check_prompt(run, todo)
    if "latents" in todo:
        check_video(run)
    model = video_model(run.config.video.model)
    asked = model if isinstance(model, ServedVideoModel) and run.served and "video" in todo else None
    if asked is not None:
        asked.check_served(run)
    _refuse(missing(run, todo))
    if asked is not None:
        asked.check_abilities(run)
    if "latents" in todo:
        check_fits(run)


def require_to_plan(config: Config, *, drawn: bool = False) -> None:
    """The same for a plan alone, or with its keyframes."""
    check_names(config)
    todo: list[layout.StageName] = ["plan", "keyframes"] if drawn else ["plan"]
    _refuse([*callers_lack(config, todo), *_of_weights(config, todo)])


def can_reason(config: Config) -> bool:
    """Whether the reasoner can be asked here: it calls no model, or its extra, key or server is there."""
    name = config.reasoner.name
    if name not in REASONERS.callers:
        return getattr(REASONERS.load(name), "calls_out", ...) is None
    return not config.runtime.offline and not list(callers_lack(config, ["plan"]))


def _refuse(found: Iterable[Missing]) -> None:
    if listed := "; ".join(f"{item.what} ({item.fix})" for item in found):
        raise PhysPlanError(f"This run cannot begin here: it lacks {listed}.")


def check_video(run: Run) -> None:
    """Refuse a size or a method that the video model is known not to take."""
    model, video = video_model(run.config.video.model), run.config.video
    if isinstance(model, ServedVideoModel) and run.served:
        model.check_served(run)
        return
    model.check_size(video)
    if run.method.conditioned:
        model.check_keyframes(video)
        if min(run.config.conditioned.strength, run.config.conditioned.until) < 1:
            model.check_hints(video)
    if run.guidance and run.guidance.decoder == "tiny" and video.files.tiny_decoder is None:
        raise PhysPlanError("guidance.decoder is tiny: give its file as video.files.tiny_decoder.")
    check_offload(run.config, differentiated=run.method.gradient(run.config) in ("exact", "fused"))


def check_offload(config: Config, *, differentiated: bool) -> None:
    """Refuse weights that would not be where they are needed, or not as they are needed."""
    model = video_model(config.video.model)
    model.check_held(config.video, config.runtime, differentiated=differentiated)
    if config.runtime.offload != "model":
        return
    if config.runtime.device == "cpu":
        raise PhysPlanError(
            "Model offload moves weights between a GPU and the CPU: on the CPU, use offload none."
        )
    if differentiated:
        raise PhysPlanError(
            "With model offload the weights leave the device before a backward pass needs them: use offload"
            " group or disk, or gradient mode direct."
        )


def check_names(config: Config) -> None:
    """A backend that there is not is answered with the one that there is."""
    seen = config.perception
    for registry, name in (
        (REASONERS, config.reasoner.name),
        (EDITORS, config.editor.name),
        (SEGMENTERS, seen.segmenter.name),
        (DEPTH_ESTIMATORS, seen.depth.name),
        (ENCODERS, seen.encoder.name),
    ):
        registry.check(name)
    if config.sketch.layers != "none":
        from physplan.sketch.registry import LAYERS

        LAYERS.check(config.sketch.layers)
    for guidance in (config.guidance, config.guided_sketch, config.frame_guidance):
        check_losses(guidance)
    if config.editor.name in EDITORS.callers:
        EDITORS.load(config.editor.name).check_options(config.editor.options)
    if config.video.polish and not config.runtime.offline:
        connect_named(config.video.polish, None, what="writer", consent=config.runtime.allow_hosts)


def check_prompt(run: Run, todo: list[layout.StageName]) -> None:
    """Refuse a picture or a sentence that the reasoner is known not to understand."""
    if "plan" in todo and run.plan is None:
        REASONERS.check_picture(run.config.reasoner.name, run.picture.image)
        REASONERS.check_prompt(run.config.reasoner.name, run.inputs.prompt)


def stages_to_do(run: Run, upto: layout.StageName | None = None) -> list[layout.StageName]:
    stages = list(run.stages)
    if upto is not None:
        stages = stages[: stages.index(upto) + 1]
    return [stage for stage in stages if run.folder.record(stage) is None]


def missing(run: Run, todo: list[layout.StageName]) -> Iterator[Missing]:
    """What can be known without loading anything."""
    config = run.config
    given: dict[layout.StageName, object] = {"plan": run.plan, "keyframes": run.keyframes}
    yield from callers_lack(config, [stage for stage in todo if given.get(stage) is None])
    yield from _of_weights(config, todo, steered=run.guidance is not None)
    model = video_model(config.video.model)
    if isinstance(model, ServedVideoModel) and "video" in todo and not config.runtime.offline:
        yield from model.served_lacks(config) if run.served else ()
    if "latents" in todo:
        for what, fix in model.lacking(config.video, config.runtime):
            yield Missing("extra", what, fix)
    try:
        check_device(config.runtime.device)
    except PhysPlanError as error:
        yield Missing("gpu", config.runtime.device, str(error).rstrip("."))
        return
    on_gpu, stages = config.runtime.device.startswith("cuda"), preset_stages(run)
    if on_gpu and stages:
        yield from _card(run, max(stages.values()))
    if stages:
        yield from _beside(run, todo, {} if on_gpu else stages)
    elif "latents" in todo:
        yield from _memory(run)


def wanted(run: Run, todo: list[layout.StageName]) -> Iterator[Missing]:
    """What a run fetches by itself, and the GPU of its preset: named, but no reason to refuse."""
    video, preset = run.config.video, run.config.preset
    seen: list[layout.StageName] = [*todo, "latents"] if run.served and "video" in todo else todo
    names = hub_names(run.config, seen, steered=run.method.samples and run.method.follows_plan)
    repo = video_model(video.model).repo
    if "latents" in todo and video.source is None and repo is not None:
        names = [repo, *names]
    for name in dict.fromkeys(names):
        here = Path(name).is_dir() or machine.has_weights(name)
        if not here and machine.no_folder(name) is None:
            yield machine.to_fetch(name, preset)
    stages = preset_stages(run)
    if stages and not run.config.runtime.device.startswith("cuda"):
        yield machine.no_gpu(max(stages.values()), f"this run would be on the {run.config.runtime.device}")


def callers_lack(config: Config, todo: list[layout.StageName]) -> Iterator[Missing]:
    callers: list[tuple[Registry, str, str | None]] = []
    if "plan" in todo:
        callers.append((REASONERS, config.reasoner.name, config.reasoner.base_url))
    if "keyframes" in todo:
        callers.append((EDITORS, config.editor.name, config.editor.base_url))
    if not config.runtime.offline:
        found = [item for caller in callers for item in _of_caller(*caller, config.runtime.allow_hosts)]
        yield from dict.fromkeys(found)


def _of_weights(config: Config, todo: list[layout.StageName], *, steered: bool = False) -> Iterator[Missing]:
    """Folders and files that are not there, and what must be asked for on the hub."""
    hub = hub_names(config, todo, steered=steered)
    named = [*hub, *([config.video.source or ""] if "latents" in todo else [])]
    yield from filter(None, (machine.no_folder(name) for name in dict.fromkeys(named) if name))
    if "latents" in todo:
        single = filter(None, asdict(config.video.files).values())
        yield from filter(None, (machine.no_file(file) for file in single))
    if not config.runtime.local_files_only:
        yield from (machine.gated(name) for name in hub if machine.asks_for_access(name))
    if todo and config.preset in PRESETS:
        both = (config, load_config(config.preset))
        if len({(one.perception.segmenter.name, one.editor.name) for one in both}) == 1:
            yield from machine.own_weights(config.preset)


def hub_names(config: Config, todo: list[layout.StageName], *, steered: bool) -> list[str]:
    """The weights on the hub that these stages load, as far as settings name them."""
    parts, seen = list[Mapping[str, Any]](), config.perception
    if "keyframes" in todo:
        parts.append(config.editor.options)
    if {"keyframes", "evidence"} & set(todo):
        parts += [seen.segmenter.options, seen.depth.options]
    if "latents" in todo and steered:
        parts.append(seen.encoder.options)
    return [str(options[name]) for options in parts for name in WEIGHTS if name in options]


def _of_caller(
    registry: Registry, name: str, base_url: str | None, allow_hosts: tuple[str, ...]
) -> Iterator[Missing]:
    """Extra, server and key of a backend that calls out; a host that the user has not named is refused."""
    if name not in registry.callers:
        return
    described: CallsOut = registry.load(name).calls_out
    provider = find_provider(described.provider)
    if not machine.has_module(provider.module):
        yield Missing("extra", f"the package {provider.module}", install_command(provider.name))
    url = described.address(base_url)
    keys = described.keys(base_url)
    if not keys:
        if not machine.answers(url):
            yield Missing("server", f"a server at {url}", f"start one there, or set {provider.url_variable}")
        return
    provider.require_consent(url, allow_hosts)
    if not any(machine.has_key(key) for key in keys):
        fix = f"set {keys[0]}, or {keys[0]}_FILE to the file that holds it"
        yield Missing("key", f"the key {' or '.join(keys)}", fix)


def _card(run: Run, needed: float) -> Iterator[Missing]:
    """The preset's one figure against the whole card."""
    here = machine.gpus()[int(run.config.runtime.device.partition(":")[2] or 0)]["memory_gb"]
    if here < needed:
        preset, fix = run.config.preset, f"this card has {here:.1f}; physplan doctor names a preset for it"
        yield Missing("memory", f"a card with {needed:.1f} GB for the preset {preset}", fix)


def _beside(run: Run, todo: list[layout.StageName], stages: Mapping[str, float]) -> Iterator[Missing]:
    """Memory that is not a card's: for weights that rest there, and for all of a run without a card."""
    preset, here = run.config.preset, machine.memory_gb()
    draws = "keyframes" in todo and run.keyframes is None
    resting = PRESETS[preset].memory_gb if draws else 0.0
    needed = max([resting, *(stages.get(stage, 0.0) for stage in todo)])
    if here < needed:
        fix = f"this machine has {here:.1f}; physplan doctor names a preset for it"
        yield Missing("memory", f"{needed:g} GB of memory for the preset {preset}", fix)


def _memory(run: Run) -> Iterator[Missing]:
    """From the stored estimates, where the model is used as published; other sizes are estimated later."""
    video, model = run.config.video, video_model(run.config.video.model)
    known, own = model.usual_memory(run.method.gradient(run.config)), model.values
    size = ("height", "width", "num_frames")
    changed = video.source is not None or video.quantisation is not None
    if known is None or changed or any(getattr(video, n) != own[n] for n in size):
        return
    needed = min(known.values())
    devices = machine.gpus()
    number = int(run.config.runtime.device.partition(":")[2] or 0)
    here = (
        devices[number]["memory_gb"] if run.config.runtime.device.startswith("cuda") else machine.memory_gb()
    )
    if here < needed and run.config.runtime.offload == "none":
        yield Missing(
            "memory",
            f"{needed:.0f} GB of memory for {video.model}",
            f"this machine has {here:.0f}; choose a smaller model, another preset or a larger machine",
        )

"""The stages in a run's folder: each makes files from files, and is done once for the same settings.

A stage here loads what it needs, calls its function of `stages` or `sampling`, and saves what that returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image
from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_json
from physplan.graph import EventChain, GraphError
from physplan.guidance import Guide
from physplan.guidance.losses import own_identities
from physplan.keyframes import Keyframe, RenderOptions
from physplan.keyframes.registry import EDITORS
from physplan.perception.preview import save_previews
from physplan.pipeline import stages
from physplan.pipeline.backends import cpu_threads
from physplan.pipeline.checking import check_video
from physplan.pipeline.events import RunEvent
from physplan.pipeline.forecast import memory_needed
from physplan.pipeline.keyframe_places import frames_to_give
from physplan.pipeline.latents_stage import SamplingRequest, make_latents
from physplan.pipeline.origins import origin_of, write_told
from physplan.pipeline.planning import make_plan, renew_plan
from physplan.pipeline.run import Run, recorded_identity
from physplan.pipeline.sketches import write_strip
from physplan.pipeline.stage_keys import digest, former_keys, stage_key
from physplan.pipeline.words import words_of
from physplan.reasoning import PlanRecord, Step
from physplan.runs import PeakMemory, file_digest, layout
from physplan.sketch import Sketch
from physplan.sketch.registry import sketch_by
from physplan.tensors import save_tensors
from physplan.video.checkpoint import CheckpointFile
from physplan.video.decoding import load_latents, save_latents
from physplan.video.files import write_video
from physplan.video.keyframe_conditioning import GivenFrame
from physplan.video.known import Material, ServedVideoModel, video_model
from physplan.video.sheets import Frames, contact_sheet
from physplan.video.upscale import to_watch

Made = tuple[list[Path], list[str]]  # files, notes


@dataclass(kw_only=True, eq=False)
class InMemory:
    """What one stage made and a later one of the same process need not make or load again."""

    sightings: stages.Sightings | None = None  # of the keyframes' check, for the evidence
    sketch: Sketch | None = None  # for the sampling


@dataclass(frozen=True)
class Stage:
    name: layout.StageName
    make: Callable[[Run, InMemory], Made]
    made_from: Callable[[Run], Sequence[Path]]
    user_editable: bool = False  # whether people are meant to change its files
    leaf: bool = False  # whether nothing is made from its files
    exchanges: bool = False  # whether it may exchange what it is made from for what an attempt has
    last_use_of: tuple[str, ...] = ()  # models that no later stage needs


def do_stages(
    run: Run, todo: Sequence[Stage], *, upto: layout.StageName | None = None, memory: InMemory | None = None
) -> None:
    """One after the other, to `upto`."""
    memory = memory or InMemory()
    with cpu_threads(run.config.runtime.threads):
        for stage in todo:
            do_stage(run, stage, memory)
            if stage.name == upto:
                return


def do_stage(run: Run, stage: Stage, memory: InMemory) -> None:
    folder = run.folder
    key, sources = key_of(run, stage)
    if stage.user_editable:
        _refuse_changed(
            run,
            stage,
            {key, *former_keys(run.config, run.inputs, stage.name, sources, recorded_identity(run))},
        )
    if is_done(run, stage, key, sources):
        run.on_event(RunEvent(stage=stage.name, kind="kept"))
        return
    later = [] if stage.leaf else layout.STAGES[layout.STAGES.index(stage.name) + 1 :]
    folder.invalidate([*reversed((stage.name, *later))])
    run.on_event(RunEvent(stage=stage.name, kind="started"))
    folder.log(f"{stage.name}: started")
    started, peak = time.monotonic(), PeakMemory(run.config.runtime.device)
    try:
        files, notes = stage.make(run, memory)
    except (PhysPlanError, GraphError, KeyboardInterrupt) as error:
        folder.log(f"{stage.name}: {str(error) or 'stopped'}")
        raise
    run.backends.release(*stage.last_use_of)
    if stage.exchanges:
        key, sources = key_of(run, stage)
    seconds = time.monotonic() - started
    folder.finish(
        stage.name,
        key,
        files,
        seconds=seconds,
        made_from=sources,
        notes=notes,
        peak_memory_bytes=peak.bytes(),
    )
    folder.log(f"{stage.name}: finished in {seconds:.1f} s")
    run.on_event(RunEvent(stage=stage.name, kind="finished", message="; ".join(notes)))


def key_of(run: Run, stage: Stage) -> tuple[str, dict[str, str]]:
    """What decides a stage: settings, and the files it is made from with their hashes."""
    sources = {
        path.relative_to(run.folder.path).as_posix(): file_digest(path) or "" for path in stage.made_from(run)
    }
    return stage_key(run.config, run.inputs, stage.name, {**sources, **_own_parts(run, stage)}), sources


def _own_parts(run: Run, stage: Stage) -> dict[str, str]:
    """The user's own losses, terms, callback or editor by identity; one without is like no other run's."""
    own: dict[str, str | None] = {}
    if stage.name == "latents":
        own |= own_identities(run.guidance) if run.guidance is not None else {}
        own |= {"callback_on_step_end": run.callback.identity} if run.callback is not None else {}
    elif stage.name == "keyframes" and run.config.editor.name in EDITORS.own:
        own["editor"] = digest(dict(run.backends.editor(run.calls).identity))
    return {name: run.once if identity is None else identity for name, identity in own.items()}


def is_done(run: Run, stage: Stage, key: str, sources: Mapping[str, str]) -> bool:
    """Under today's key, or the one of version 0.1; that one knew nothing of the user's own losses."""
    if run.folder.is_done(stage.name, key):
        return True
    if _own_parts(run, stage):
        return False
    former = former_keys(run.config, run.inputs, stage.name, sources, recorded_identity(run))
    return any(run.folder.is_done(stage.name, one) for one in former)


def _refuse_changed(run: Run, stage: Stage, keys: set[str]) -> None:
    record = run.folder.record(stage.name)
    if record is None or record.key not in keys:
        return
    for name in record.changed(run.folder.path):
        if (run.folder / name).exists():
            raise PhysPlanError(
                f"{run.folder / name} was changed after the run made it: copy it elsewhere and give it with "
                f"--{stage.name}, or delete it to make it again."
            )


def _plan(run: Run, memory: InMemory) -> Made:
    path = run.folder / layout.PLAN
    record, tell = PlanRecord(), run.tell("plan")
    unfinished = run.folder / layout.UNFINISHED_PLAN

    def on_step(step: Step) -> None:
        where = f" event {step.event}" if step.event else ""
        tell(f"{step.stage}{where}: {step.message}")

    if run.plan is not None:
        given, notes = renew_plan(
            run.config, run.backends, run.frame, run.plan, calls=run.calls, on_step=on_step
        )
        given.save(path)
        return [path], notes
    try:
        chain = make_plan(
            run.config,
            run.backends,
            run.frame,
            run.inputs.prompt,
            calls=run.calls,
            record=record,
            on_step=on_step,
        )
    except (PhysPlanError, GraphError) as error:
        write_json(unfinished, record.to_json(str(error)))
        raise
    chain.save(path)
    unfinished.unlink(missing_ok=True)
    return [path], []


def _keyframes(run: Run, memory: InMemory) -> Made:
    chain, tell = load_plan(run), run.tell("keyframes")
    done = 0

    def on_keyframe(keyframe: Keyframe) -> None:
        nonlocal done
        done += 1
        tell(keyframe.report(), done=done, total=len(chain.events))

    seen = run.config.perception
    tell(f"loading {seen.segmenter.name} and {seen.depth.name}, which look at pictures")
    drawn = stages.make_keyframes(
        run.config,
        run.backends,
        run.frame,
        chain,
        given=run.keyframes,
        calls=run.calls,
        options=RenderOptions(store=run.folder / layout.DRAWINGS, on_keyframe=on_keyframe),
    )
    memory.sightings = drawn.sightings
    files = []
    for keyframe in drawn.keyframes:
        files.append(run.folder / layout.keyframe(keyframe.event + 1))
        with atomic_path(files[-1]) as temporary:
            keyframe.image.save(temporary)
    described = run.folder / layout.KEYFRAMES
    write_json(described, [_describe(keyframe) for keyframe in drawn.keyframes])
    return [*files, described], [k.report() for k in drawn.keyframes if k.check.problems]


def _describe(keyframe: Keyframe) -> dict[str, object]:
    return {
        "event": keyframe.event + 1,
        "instruction": keyframe.instruction,
        "attempts": keyframe.attempts,
        "drift": round(keyframe.check.drift, 6),
        "problems": list(keyframe.check.problems),
    }


def _evidence(run: Run, memory: InMemory) -> Made:
    chain = load_plan(run)
    seen, memory.sightings = memory.sightings, None  # of the keyframes' check, just now
    if seen is None:
        run.tell("evidence")("looking for every object in every picture")
        seen = stages.look_at(run.backends, run.frame, chain, load_keyframes(run))
    evidence = stages.make_evidence(chain, seen)
    path = run.folder / layout.EVIDENCE
    evidence.save(path)
    return [path, *save_previews(evidence, run.folder / layout.EVIDENCE_FOLDER)], list(evidence.missing)


def _latents(run: Run, memory: InMemory) -> Made:
    config, tell = run.config, run.tell("latents")
    needed = memory_needed(run)
    tell(f"loading the video model {config.video.model}" + (f", memory {needed}" if needed else ""))
    guided_by = None
    sketch = _sketch_of(run, memory) if run.start == "sketch" else None
    if run.guidance is not None:
        evidence = layout.load_evidence(run.folder.path)
        guided_by = Guide(chain=load_plan(run), evidence=evidence, config=run.guidance)
    given, told = _given_frames(run) if run.method.conditioned else ([], [])
    followed = load_plan(run) if run.method.follows_plan and config.video.prompt != "user" else None
    checkpoint = CheckpointFile(run.folder / layout.SAMPLING, key_of(run, LATENTS)[0])
    sampled = make_latents(
        SamplingRequest(
            config=config,
            backends=run.backends,
            frame=run.frame,
            prompt=words_of(run, followed),
            seed=run.inputs.seed,
            guided_by=guided_by,
            sketch=sketch,
            keyframes=given,
            tell=tell,
            preview=run.folder / layout.PREVIEW,
            checkpoint=checkpoint,
            callback=run.callback,
        )
    )
    path, losses = run.folder / layout.LATENTS, run.folder / layout.LOSSES
    save_latents(path, sampled.latents, sampled.layout)
    write_json(losses, sampled.losses)
    files = [path, losses]
    if guided_by is not None:
        files.append(run.folder / layout.TIMES)
        write_json(files[-1], sampled.seconds)
        files.append(run.folder / layout.REGIONS)
        regions = {label: region.float().contiguous() for label, region in sampled.regions.items()}
        save_tensors(files[-1], regions)
    checkpoint.remove()  # after the latents are on disk
    return files, [*told, *sampled.notes, *video_model(config.video.model).warnings(run.picture.image.size)]


def _sketch(run: Run, memory: InMemory) -> Made:
    """To look at, seconds after the keyframes; a resumed sampling makes it again."""
    run.tell("sketch")("drawing the plan in motion")
    try:
        sketch = _sketch_of(run, memory)
    except PhysPlanError as error:
        if run.start == "sketch":
            raise
        return [], [f"the plan could not be sketched: {error}"]
    shown = _as_given(run, sketch.frames)
    files = [run.folder / layout.SKETCH, run.folder / layout.SKETCH_STRIP]
    write_video(files[0], shown, fps=run.config.video.clip.fps)
    _write_strip(run, files[1], ("sketch", shown))
    (run.folder / layout.SIMULATION).unlink(missing_ok=True)
    if sketch.otherwise is not None:
        files.append(run.folder / layout.SIMULATION)
        write_video(files[-1], _as_given(run, sketch.otherwise), fps=run.config.video.clip.fps)
    if run.start == "sketch":
        memory.sketch = sketch
    return files, list(sketch.notes)


def _given_frames(run: Run) -> tuple[list[GivenFrame], list[str]]:
    evidence = layout.load_evidence(run.folder.path) if run.config.conditioned.where == "edits" else None
    margin = run.config.editor.check.margin
    given, notes = frames_to_give(load_plan(run), load_keyframes(run), evidence, margin=margin)
    asked = run.config.conditioned
    return [replace(one, strength=asked.strength, until=asked.until) for one in given], notes


def _sketch_of(run: Run, memory: InMemory) -> Sketch:
    sketch, memory.sketch = memory.sketch, None
    return sketch or sketch_by(run.config, load_plan(run), layout.load_evidence(run.folder.path))


def _storyboard(run: Run, memory: InMemory) -> Made:
    """The sketch itself as the video: no video model is loaded."""
    run.tell("video")("drawing the storyboard")
    return _write_video(run, _sketch_of(run, memory).frames)


def _served(run: Run, memory: InMemory) -> Made:
    """A server's video: no video model is loaded."""
    model, conditioned = video_model(run.config.video.model), run.method.conditioned
    assert isinstance(model, ServedVideoModel)
    made = model.serve(
        run,
        Material(
            chain=load_plan(run) if run.method.follows_plan else None,
            keyframes=tuple(load_keyframes(run)) if conditioned else (),
            sketch=_sketch_of(run, memory) if run.start == "sketch" else None,
        ),
    )
    files, notes = _write_video(run, made.frames)
    return files, [*notes, *made.notes]


def _video(run: Run, memory: InMemory) -> Made:
    run.tell("video")("decoding")
    path = run.folder / layout.LATENTS
    return _write_video(run, stages.make_video(run.backends, *load_latents(path), kept_at=path))


def _write_video(run: Run, frames: Tensor) -> Made:
    shown = _as_given(run, frames)
    origin = origin_of(run, shown)
    video, exact = run.folder / layout.VIDEO, run.folder / layout.EXACT_VIDEO
    # One to look at, one without loss: what is measured must be neither the codec's nor the enlargement's.
    for path, pixels in ((video, to_watch(shown)), (exact, shown)):
        write_told(path, pixels, origin)
    strip = run.folder / layout.STRIP
    rows: list[tuple[str, Frames]] = [("video", shown)]
    if run.method.samples and (run.folder / layout.SKETCH).exists():
        rows.insert(0, ("sketch", layout.load_video(run.folder.path, layout.SKETCH).frames))
    _write_strip(run, strip, *rows)
    return [video, exact, strip], []


def _as_given(run: Run, frames: Tensor) -> Tensor:
    """In the shape of the picture that was given."""
    return frames if run.fit.mode == "crop" else run.fit.undo(frames, run.picture.image)


def _write_strip(run: Run, path: Path, *rows: tuple[str, Frames]) -> None:
    """Films of one length under the keyframes, where there are any."""
    if run.method.follows_plan:
        write_strip(path, rows, load_plan(run), run.frame, load_keyframes(run))
    else:
        contact_sheet(rows, path, title=run.inputs.prompt)


def _verdict(run: Run, memory: InMemory) -> Made:
    run.tell("verdict")("looking for every edit in the video")
    evidence = layout.load_evidence(run.folder.path) if run.method.follows_plan else None
    frames = layout.load_video(run.folder.path).frames
    found = check_video(run, load_plan(run) if run.planned else None, evidence, frames)
    path = run.folder / layout.VERDICT
    write_json(path, found.to_json())
    return [path], []


def _judged_from(run: Run) -> list[Path]:
    plan = [run.folder / layout.PLAN] if run.planned else []
    return [run.folder / layout.EXACT_VIDEO, *plan, *_sampled_from(run)[1:]]


def load_plan(run: Run) -> EventChain:
    return layout.load_plan(run.folder.path)


def load_keyframes(run: Run) -> list[Image.Image]:
    return layout.load_keyframes(run.folder.path)


def _keyframe_files(run: Run) -> list[Path]:
    keyframes = (run.folder / layout.keyframe(i + 1) for i in range(len(load_plan(run).events)))
    return [run.folder / layout.PLAN, *keyframes]


def _sampled_from(run: Run) -> list[Path]:
    return [run.folder / layout.PLAN, run.folder / layout.EVIDENCE] if run.method.follows_plan else []


def _given_to_sampling(run: Run) -> list[Path]:
    return [*_sampled_from(run), *(_keyframe_files(run)[1:] if run.method.conditioned else [])]


PLAN = Stage("plan", _plan, lambda run: [], user_editable=True)
KEYFRAMES = Stage(
    "keyframes",
    _keyframes,
    lambda run: [run.folder / layout.PLAN],
    user_editable=True,
    last_use_of=("editor",),
)
EVIDENCE = Stage("evidence", _evidence, _keyframe_files, last_use_of=("segmenter",))
SKETCH = Stage("sketch", _sketch, _sampled_from, leaf=True)
LATENTS = Stage("latents", _latents, _given_to_sampling)
VIDEO = Stage("video", _video, lambda run: [run.folder / layout.LATENTS], last_use_of=("video", "encoder"))
VERDICT = Stage("verdict", _verdict, _judged_from)
BY_NAME = {stage.name: stage for stage in (PLAN, KEYFRAMES, EVIDENCE, SKETCH, LATENTS, VIDEO, VERDICT)}
STORYBOARDED = Stage("video", _storyboard, _sampled_from)
SERVED = Stage("video", _served, _given_to_sampling)


def stages_of(run: Run) -> tuple[Stage, ...]:
    """The stages of the run's method, in order."""
    own = {"video": SERVED} if run.served else {} if run.method.samples else {"video": STORYBOARDED}
    return tuple(own.get(name) or BY_NAME[name] for name in run.stages)

"""The stages in order (figure 2): each makes files from files, and is done once for the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from physplan.errors import PhysPlanError
from physplan.files import atomic_path, write_json
from physplan.graph import EventChain, GraphError
from physplan.keyframes import Keyframe, RenderSettings, check_keyframe, render_keyframes
from physplan.keyframes.render import instruction_of
from physplan.perception import first_frame_evidence, gather_evidence
from physplan.perception.images import to_tensor
from physplan.perception.preview import save_previews
from physplan.pipeline.events import RunEvent
from physplan.pipeline.run import Run
from physplan.pipeline.sampling import make_latents
from physplan.pipeline.stage_keys import stage_key
from physplan.reasoning import PlanRecord, PlanSettings, Step, plan
from physplan.runs import PeakMemory, file_digest, layout
from physplan.video.decoding import decode_safely, load_latents
from physplan.video.files import run_metadata, write_video
from physplan.video.sheets import Frames, contact_sheet

Made = tuple[list[Path], list[str]]  # files, notes


@dataclass(frozen=True)
class Stage:
    name: layout.StageName
    make: Callable[[Run], Made]
    made_from: Callable[[Run], Sequence[Path]]
    own_hand: bool = False  # whether people are meant to change its files


def do_stage(run: Run, stage: Stage) -> None:
    folder = run.folder
    sources = {
        path.relative_to(folder.path).as_posix(): file_digest(path) or "" for path in stage.made_from(run)
    }
    key = stage_key(run.config, run.inputs, stage.name, sources)
    if stage.own_hand:
        _refuse_changed(run, stage, key)
    if folder.is_done(stage.name, key):
        run.on_event(RunEvent(stage=stage.name, kind="kept"))
        return
    folder.forget([*reversed(layout.STAGES[layout.STAGES.index(stage.name) :])])
    run.on_event(RunEvent(stage=stage.name, kind="started"))
    folder.log(f"{stage.name}: started")
    started, memory = time.monotonic(), PeakMemory(run.config.runtime.device)
    try:
        files, notes = stage.make(run)
    except (PhysPlanError, GraphError) as error:
        folder.log(f"{stage.name}: {error}")
        raise
    except KeyboardInterrupt:
        folder.log(f"{stage.name}: stopped")
        raise
    seconds = time.monotonic() - started
    folder.finish(
        stage.name,
        key,
        files,
        seconds=seconds,
        made_from=sources,
        notes=notes,
        peak_memory_bytes=memory.bytes(),
    )
    folder.log(f"{stage.name}: finished in {seconds:.1f} s")
    run.on_event(RunEvent(stage=stage.name, kind="finished", message="; ".join(notes)))


def _refuse_changed(run: Run, stage: Stage, key: str) -> None:
    record = run.folder.record(stage.name)
    if record is None or record.key != key:
        return
    for name in record.changed(run.folder.path):
        if (run.folder / name).exists():
            raise PhysPlanError(
                f"{run.folder / name} was changed after the run made it: copy it elsewhere and give it with "
                f"--{stage.name}, or delete it to make it again."
            )


def make_plan(run: Run) -> Made:
    path = run.folder / layout.PLAN
    if run.plan is not None:
        run.plan.save(path)
        return [path], ["the plan was given"]
    reasoner, record = run.config.reasoner, PlanRecord()
    unfinished = run.folder / layout.UNFINISHED_PLAN

    def tell(step: Step) -> None:
        where = f" event {step.event}" if step.event else ""
        run.report("plan", f"{step.stage}{where}: {step.message}")

    settings = PlanSettings(
        retries=reasoner.retries,
        regenerations=reasoner.regenerations,
        max_events=reasoner.max_events,
        at_once=run.config.runtime.at_once,
    )
    try:
        chain = plan(
            run.backends.reasoner(run.calls),
            run.frame,
            run.inputs.prompt,
            run.config.video.num_frames or 0,
            settings=settings,
            progress=tell,
            record=record,
        )
    except (PhysPlanError, GraphError) as error:
        write_json(unfinished, record.to_json(str(error)))
        raise
    chain.save(path)
    unfinished.unlink(missing_ok=True)
    return [path], []


def make_keyframes(run: Run) -> Made:
    chain, backends, editor = load_plan(run), run.backends, run.config.editor
    total = len(chain.events)
    if run.keyframes is not None:
        keyframes = _judge(run, chain, run.keyframes)
    else:
        done = 0

        def tell(keyframe: Keyframe) -> None:
            nonlocal done
            done += 1
            run.report("keyframes", keyframe.report(), done=done, total=total)

        keyframes = render_keyframes(
            chain,
            run.frame,
            editor=backends.editor(run.calls),
            segmenter=backends.segmenter,
            depth=backends.depth,
            seed=editor.seed,
            settings=RenderSettings(redraws=editor.redraws, check=editor.check),
            store=run.folder / layout.DRAWINGS,
            on_keyframe=tell,
        )
    backends.release("editor")
    files = []
    for keyframe in keyframes:
        files.append(run.folder / layout.keyframe(keyframe.event + 1))
        with atomic_path(files[-1]) as temporary:
            keyframe.image.save(temporary)
    write_json(run.folder / layout.KEYFRAMES, [_describe(keyframe) for keyframe in keyframes])
    return [*files, run.folder / layout.KEYFRAMES], [k.report() for k in keyframes if k.check.problems]


def _judge(run: Run, chain: EventChain, images: Sequence[Image.Image]) -> tuple[Keyframe, ...]:
    """Given keyframes are looked at as drawn ones are, but not drawn again."""
    look = {"segmenter": run.backends.segmenter, "depth": run.backends.depth}
    first = first_frame_evidence(chain.graph, to_tensor(run.frame), **look)  # type: ignore[arg-type]
    return tuple(
        Keyframe(
            event=event,
            image=image,
            instruction=instruction_of(chain, event),
            attempts=1,
            check=check_keyframe(
                chain,
                event,
                to_tensor(image),
                first=first,
                settings=run.config.editor.check,
                **look,  # type: ignore[arg-type]
            ),
        )
        for event, image in enumerate(images)
    )


def _describe(keyframe: Keyframe) -> dict[str, object]:
    return {
        "event": keyframe.event + 1,
        "instruction": keyframe.instruction,
        "attempts": keyframe.attempts,
        "drift": round(keyframe.check.drift, 6),
        "problems": list(keyframe.check.problems),
    }


def make_evidence(run: Run) -> Made:
    run.report("evidence", "looking for every object in every picture")
    evidence = gather_evidence(
        load_plan(run),
        to_tensor(run.frame),
        [to_tensor(image) for image in load_keyframes(run)],
        segmenter=run.backends.segmenter,
        depth=run.backends.depth,
    )
    path = run.folder / layout.EVIDENCE
    evidence.save(path)
    pictures = save_previews(evidence, run.folder / layout.EVIDENCE_FOLDER)
    run.backends.release("segmenter")
    return [path, *pictures], list(evidence.missing)


def make_video(run: Run) -> Made:
    run.report("video", "decoding")
    path = run.folder / layout.LATENTS
    latents, frame_layout = load_latents(path)
    model = run.backends.video
    frames = decode_safely(model, latents.to(model.device), frame_layout, path).cpu()
    shown = frames if run.fit.mode == "crop" else run.fit.undo(frames, run.picture.image)
    video = run.folder / layout.VIDEO
    about = {"method": run.inputs.method, "prompt": run.inputs.prompt, "video": run.config.video.model}
    metadata = run_metadata(seed=run.inputs.seed, preset=run.config.preset, **about)
    exact = run.folder / layout.EXACT_VIDEO  # without loss: what is measured must not be the codec
    for path in (video, exact):
        write_video(path, shown, fps=run.config.video.fps or 8, metadata=metadata)
    strip = run.folder / layout.STRIP
    rows: list[tuple[str, Frames]] = [("video", shown)]
    anchors: tuple[int, ...] = ()
    if run.guided:
        anchors = load_plan(run).anchors
        states: list[Image.Image | None] = [None] * len(frames)
        states[0] = run.frame
        for anchor, image in zip(anchors, load_keyframes(run), strict=True):
            states[anchor] = image
        rows.insert(0, ("keyframes", states))
    contact_sheet(rows, strip, marked=anchors, title=run.inputs.prompt)
    return [video, exact, strip], []


def load_plan(run: Run) -> EventChain:
    return layout.load_plan(run.folder.path)


def load_keyframes(run: Run) -> list[Image.Image]:
    return layout.load_keyframes(run.folder.path)


def _keyframe_files(run: Run) -> list[Path]:
    return [
        run.folder / layout.PLAN,
        *(run.folder / layout.keyframe(i + 1) for i in range(len(load_plan(run).events))),
    ]


def _sampled_from(run: Run) -> list[Path]:
    return [run.folder / layout.PLAN, run.folder / layout.EVIDENCE] if run.guided else []


PLAN = Stage("plan", make_plan, lambda run: [], own_hand=True)
KEYFRAMES = Stage("keyframes", make_keyframes, lambda run: [run.folder / layout.PLAN], own_hand=True)
EVIDENCE = Stage("evidence", make_evidence, _keyframe_files)
LATENTS = Stage("latents", make_latents, _sampled_from)
VIDEO = Stage("video", make_video, lambda run: [run.folder / layout.LATENTS])
GUIDED = (PLAN, KEYFRAMES, EVIDENCE, LATENTS, VIDEO)
UNGUIDED = (LATENTS, VIDEO)

"""Several samplings for one run: runs of their own that take over what they do not change.

They are made in order until a video holds; if none does, the highest score is kept, of equal ones the first.
Another attempt changes what the verdict asks for, or the seed alone (`next_attempt`). What cannot be checked
is not tried again, because nothing could tell which is better. A method that chooses (best_of_n) samples all
seeds, and keeps the video that `choosing` prefers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from physplan import plugins
from physplan.files import atomic_path, write_json
from physplan.pipeline.config import BestOfNConfig
from physplan.pipeline.events import OnEvent, RunEvent
from physplan.pipeline.run import Run, begin
from physplan.pipeline.stage_runner import InMemory, Made, Stage, do_stages, is_done, key_of, stages_of
from physplan.runs import RunFolder, layout
from physplan.runs.records import Attempt, Changed
from physplan.runs.verdicts import verdict_of
from physplan.verify.verdict import NotChecked

OF_THE_SEED = ("latents", "video", "verdict")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tried:
    run: Run  # with a folder of its own
    record: Attempt


Next = Callable[[Run, Sequence[Tried]], tuple[Run, tuple[Changed, ...]]]


def attempted_stages(run: Run) -> tuple[Stage, ...]:
    """The run's stages, where what is sampled is the best attempt's."""
    return tuple(_attempted(stage) if stage.name in OF_THE_SEED else stage for stage in stages_of(run))


def _attempted(stage: Stage) -> Stage:
    if stage.name == "latents":
        return replace(stage, make=_attempts, exchanges=True)
    return replace(stage, make=lambda run, memory: take_over(run, stage.name))


def _attempts(run: Run, memory: InMemory) -> Made:
    by_verdict = run.config.next_attempt == "verdict" and not run.method.chooses
    change: Next = plugins.load(plugins.entries("attempts")["verdict"]) if by_verdict else another_seed
    tried = [_attempt(run, run, (), 1, memory)]
    while len(tried) < run.inputs.attempts and (
        run.method.chooses or tried[-1].record.verdict in ("doubtful", "fails")
    ):
        tried.append(_attempt(run, *change(run, tried), len(tried) + 1, InMemory()))
    made = [one.record for one in tried]
    choose = plugins.load(plugins.entries("attempts")["choice"])
    if (found := choose(run, [one.run.folder for one in tried])) is not None:
        made = [replace(one, preference=round(value, 6)) for one, value in zip(made, found, strict=True)]
    best = max(made, key=lambda one: (one.score or 0.0) if one.preference is None else one.preference)
    path = run.folder / layout.ATTEMPTS
    write_json(path, [asdict(replace(one, chosen=one is best)) for one in made])
    exchange(run, RunFolder(run.folder / layout.attempt(best.name)))
    files, notes = take_over(run, "latents")
    return [*files, path], notes


def another_seed(run: Run, tried: Sequence[Tried]) -> tuple[Run, tuple[Changed, ...]]:
    """The next seed, and nothing else."""
    seed = 1 + max(one.record.seed for one in tried)
    changed = Changed(kind="seed", what=f"seed {seed}", why="another seed may do")
    return replace(run, inputs=replace(run.inputs, seed=seed)), (changed,)


def _attempt(run: Run, as_asked: Run, changed: tuple[Changed, ...], number: int, memory: InMemory) -> Tried:
    from physplan.report import write_report

    seed = as_asked.inputs.seed
    new = not changed or any(one.kind == "seed" for one in changed)
    name = f"seed{seed}" if new else f"change{number}"
    told = "; ".join(f"{one.what} ({one.why})" for one in changed) or f"seed {seed}"
    one = replace(
        as_asked,
        folder=RunFolder(run.folder / layout.attempt(name)),
        inputs=replace(as_asked.inputs, attempts=1),
        config=replace(as_asked.config, best_of_n=BestOfNConfig()),  # another choice makes no other video
        on_event=through(
            run.on_event, f"attempt {number} of at most {run.inputs.attempts}, {told}", "latents"
        ),
    )
    with one.folder.locked():
        begin(one, redo=True)
        adopt(one, as_asked.folder)
        do_stages(one, stages_of(one), memory=memory)
        write_report(one.folder)
    found = verdict_of(one.folder)
    records = [one.folder.record(stage) for stage in OF_THE_SEED]
    record = Attempt(
        seed=seed,
        name=name,
        verdict=found.verdict,
        score=None if isinstance(found, NotChecked) else round(found.score, 4),
        seconds=round(sum(record.seconds for record in records if record), 3),
        chosen=False,
        changed=changed,
    )
    return Tried(run=one, record=record)


def through(on_event: OnEvent, words: str, stage: layout.StageName) -> OnEvent:
    """Events of a nested run, reported as a stage of the outer one."""

    def tell(event: RunEvent) -> None:
        if event.stage in OF_THE_SEED:
            said = f"{event.stage} {event.message or event.kind}"
            on_event(replace(event, stage=stage, kind="progress", message=f"{words}: {said}"))

    return tell


def exchange(run: Run, source: RunFolder) -> None:
    """Make the plan and the keyframes of an attempt the run's own, so that its video belongs to them."""
    for stage in stages_of(run):
        record = source.record(stage.name)
        if stage.name in OF_THE_SEED or record is None:
            continue
        if (own := run.folder.record(stage.name)) is None or own.files != record.files:
            files = [_share(source, run.folder, name) for name in record.files]
            key, sources = key_of(run, stage)
            run.folder.finish(
                stage.name, key, files, seconds=record.seconds, made_from=sources, notes=record.notes
            )


def take_over(run: Run, stage: layout.StageName) -> Made:
    """The files of the chosen attempt, as the run's own."""
    name = next(one.name for one in layout.load_attempts(run.folder.path) if one.chosen)
    source = RunFolder(run.folder / layout.attempt(name))
    record = source.record(stage)
    assert record is not None  # it was done just now, or the run's own stage before this one would be undone
    return [_share(source, run.folder, name) for name in record.files], list(record.notes)


def adopt(run: Run, source: RunFolder) -> None:
    """Take over from another run what would come out the same here."""
    for stage in stages_of(run):
        key, sources = key_of(run, stage)
        record = source.record(stage.name)
        if is_done(run, stage, key, sources):
            continue
        if record is None or not is_done(replace(run, folder=source), stage, key, sources):
            return
        for name in record.files:
            _share(source, run.folder, name)
        record.save(run.folder / layout.record(stage.name))


def _share(source: RunFolder, target: RunFolder, name: str) -> Path:
    """Files are replaced, never written into, so a hard link is as good as a copy."""
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        try:
            os.link(source / name, temporary)
        except OSError:
            shutil.copyfile(source / name, temporary)
    return path

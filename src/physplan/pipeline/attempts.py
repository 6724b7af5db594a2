"""Several samplings of one plan: runs of their own that take over what does not depend on the seed.

The rule: seeds are tried in order until a video holds; if none does, the highest score is kept, of equal ones
the first. A video that cannot be checked is not tried again, because nothing could tell which is better. A
method that chooses (best_of_n) makes all of them, and keeps the one that `choosing` prefers.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path

from physplan.files import atomic_path, write_json
from physplan.pipeline.choosing import preferences
from physplan.pipeline.config import BestOfNConfig
from physplan.pipeline.events import OnEvent, RunEvent
from physplan.pipeline.run import Run, begin
from physplan.pipeline.stage_runner import InMemory, Made, Stage, do_stages, is_done, key_of, stages_of
from physplan.runs import RunFolder, layout
from physplan.runs.records import Attempt
from physplan.runs.verdicts import verdict_of
from physplan.verify.verdict import NotChecked

OF_THE_SEED = ("latents", "video", "verdict")


def attempted_stages(run: Run) -> tuple[Stage, ...]:
    """The run's stages, where what depends on the seed is the best attempt's."""
    return tuple(_attempted(stage) if stage.name in OF_THE_SEED else stage for stage in stages_of(run))


def _attempted(stage: Stage) -> Stage:
    if stage.name == "latents":
        return replace(stage, make=_attempts)
    return replace(stage, make=lambda run, memory: take_over(run, stage.name))


def _attempts(run: Run, memory: InMemory) -> Made:
    made: list[Attempt] = []
    for number in range(run.inputs.attempts):
        made.append(_attempt(run, run.inputs.seed + number, number + 1, memory))
        if not run.method.chooses and made[-1].verdict not in ("doubtful", "fails"):
            break
    if (found := preferences(run, [one.seed for one in made])) is not None:
        made = [replace(one, preference=round(value, 6)) for one, value in zip(made, found, strict=True)]
    best = max(made, key=lambda one: (one.score or 0.0) if one.preference is None else one.preference)
    path = run.folder / layout.ATTEMPTS
    write_json(path, [asdict(replace(one, chosen=one is best)) for one in made])
    files, notes = take_over(run, "latents")
    return [*files, path], notes


def _attempt(run: Run, seed: int, number: int, memory: InMemory) -> Attempt:
    from physplan.report import write_report

    words = f"attempt {number} of at most {run.inputs.attempts}, seed {seed}"
    one = replace(
        run,
        folder=RunFolder(run.folder / layout.attempt(seed)),
        inputs=replace(run.inputs, seed=seed, attempts=1),
        config=replace(run.config, best_of_n=BestOfNConfig()),  # another choice makes no other video
        on_event=through(run.on_event, words, "latents"),
    )
    with one.folder.locked():
        begin(one, redo=True)
        adopt(one, run.folder)
        do_stages(one, stages_of(one), memory=memory)
        write_report(one.folder)
    found = verdict_of(one.folder)
    records = [one.folder.record(stage) for stage in OF_THE_SEED]
    return Attempt(
        seed=seed,
        verdict=found.verdict,
        score=None if isinstance(found, NotChecked) else round(found.score, 4),
        seconds=round(sum(record.seconds for record in records if record), 3),
        chosen=False,
    )


def through(on_event: OnEvent, words: str, stage: layout.StageName) -> OnEvent:
    """What a run within a run does, told as a stage of the whole one."""

    def tell(event: RunEvent) -> None:
        if event.stage in OF_THE_SEED:
            said = f"{event.stage} {event.message or event.kind}"
            on_event(replace(event, stage=stage, kind="progress", message=f"{words}: {said}"))

    return tell


def take_over(run: Run, stage: layout.StageName) -> Made:
    """The files of the chosen attempt, as the run's own."""
    seed = next(one.seed for one in layout.load_attempts(run.folder.path) if one.chosen)
    source = RunFolder(run.folder / layout.attempt(seed))
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

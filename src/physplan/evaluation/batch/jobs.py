"""Rows as cases of the engine: checked before anything starts, then a run each, with one ledger for all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from physplan.errors import PhysPlanError
from physplan.evaluation.batch.rows import Row, read_rows
from physplan.evaluation.cases import Case, CaseStore
from physplan.evaluation.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan.evaluation.money import open_total, require_total
from physplan.evaluation.provenance import file_digest, provenance
from physplan.files import write_atomic, write_json

if TYPE_CHECKING:
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.config import Config, Source

RECORD = "batch.json"
VIDEO = "video.mp4"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A row with its settings read: what a worker needs."""

    row: Row
    config: Config
    identity: Mapping[str, Any]

    @property
    def case(self) -> Case:
        return Case(name=self.row.name, identity=self.identity, group=self.row.method)

    def run_folder(self, folder: Path) -> Path:
        return folder / "cases" / self.case.stem / "run"


def arguments(row: Row) -> dict[str, Any]:
    """Of `PhysPlan.generate`."""
    return {name: getattr(row, name) for name in ("image", "prompt", "plan", "seed", "method", "attempts")}


def read_jobs(
    path: Path, source: Source, overrides: Mapping[str, Any], folder: Path, *, here: bool
) -> list[Job]:
    """All rows of a file, or one error that names every line which no run could do (on this machine)."""
    return read_rows(path, partial(make_job, source, overrides, folder, here))


def make_job(source: Source, overrides: Mapping[str, Any], folder: Path, here: bool, row: Row) -> Job:
    """Everything that a run would refuse at its beginning is refused here."""
    from physplan.evaluation.preset_generator import deciding_fields
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.requirements import check_names, check_prompt, require, stages_to_do
    from physplan.pipeline.run import prepare_run
    from physplan.runs import RunFolder

    config = load_config(source, {**overrides, **row.settings})
    pp = PhysPlan(config)
    run = prepare_run(RunFolder(folder), pp.config, pp.backends, **arguments(row))
    identity = {
        "benchmark": "batch 1",
        "image": file_digest(row.image),
        "prompt": run.inputs.prompt,
        "plan": run.inputs.plan,
        "seed": row.seed,
        "method": row.method,
        "settings": deciding_fields(pp.config),
        **({} if row.attempts == 1 else {"attempts": row.attempts}),
    }
    job = Job(row=row, config=config, identity=json.loads(json.dumps(identity)))
    run = replace(run, folder=RunFolder(job.run_folder(folder)))  # what is done there needs nothing any more
    if here:
        require(run)
    else:
        check_names(run.config)
        check_prompt(run, stages_to_do(run))
    return job


def run_batch(
    jobs: Sequence[Job],
    folder: Path,
    *,
    engine: EngineConfig | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> RunReport:
    """Make what is missing, and put every video into the folder under its row's name."""
    claim_folder(folder)
    open_total(folder)
    setup = partial(make_video_maker, {job.row.name: job for job in jobs})
    report = run_cases([job.case for job in jobs], setup, folder, config=engine, progress=progress)
    store = CaseStore(folder)
    for job in jobs:
        if job.row.name in report.results:
            made = (store.directory(job.case) / VIDEO).read_bytes()
            write_atomic(folder / f"{job.row.name}.mp4", made)
    return report


def claim_folder(folder: Path) -> None:
    """A folder that holds something else is left alone."""
    if (folder / RECORD).is_file():
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PhysPlanError(f"{folder} holds something else than a batch: choose a new folder with -o.")
    write_json(folder / RECORD, provenance(protocol="batch", settings={}))


def make_video_maker(jobs: Mapping[str, Job]) -> CaseFunction:
    """Models are kept from row to row as long as their settings stay the same."""
    from physplan.pipeline import PhysPlan

    kept: dict[str, PhysPlan] = {}

    def make(case: Case, directory: Path) -> Mapping[str, Any]:
        job = jobs[case.name]
        require_total(job.config.runtime.total_ledger)
        key = json.dumps(job.identity["settings"], sort_keys=True)
        if key not in kept:
            kept.clear()  # two sets of models may not fit
            kept[key] = PhysPlan(job.config)
        made = kept[key].generate(**arguments(job.row), output_dir=directory / "run")
        shutil.copyfile(directory / "run" / VIDEO, directory / VIDEO)
        return {
            "frames": len(made.video),
            "fps": made.fps,
            "seconds": sum(made.cost.seconds.values()),
            "calls": made.cost.calls.calls,
            "usd": made.cost.usd,
            "notes": list(made.notes),
            "verdict": made.verdict.verdict,
            "attempts": [asdict(one) for one in made.attempts],
        }

    return make

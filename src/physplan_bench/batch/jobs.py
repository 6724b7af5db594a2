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
from physplan.files import TEMPORARY, write_atomic, write_json
from physplan_bench.batch.rows import Row, read_rows
from physplan_bench.batch.sharing import STAGES, group_of, in_order, shared_groups, shared_stages
from physplan_bench.cases import Case, CaseStore
from physplan_bench.engine import CaseFunction, EngineConfig, Progress, RunReport, run_cases
from physplan_bench.provenance import file_digest, provenance
from physplan_bench.shared_budget import open_total, require_total

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
    group: str = ""  # rows of one group share their plan, keyframes, evidence and sketch

    @property
    def model_key(self) -> str:
        return json.dumps(self.identity["settings"], sort_keys=True)

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
    from physplan.pipeline import PhysPlan
    from physplan.pipeline.config_loading import load_config
    from physplan.pipeline.consent import refuse_consent, refuse_looser
    from physplan.pipeline.requirements import check_names, check_prompt, require, stages_to_do
    from physplan.pipeline.run import RunRequest, prepare_run
    from physplan.runs import RunFolder
    from physplan_bench.preset_generator import deciding_fields

    typed = load_config(source, overrides)
    config = refuse_consent(typed, load_config(typed, row.settings), "the row")
    refuse_looser(typed, config, "the row")
    pp = PhysPlan(config)
    row = replace(row, method=row.method or config.method)
    run = prepare_run(RunFolder(folder), pp.config, pp.backends, RunRequest(**arguments(row)))
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
    job = Job(row=row, config=config, identity=json.loads(json.dumps(identity)), group=group_of(run))
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
    setup = partial(make_video_maker, {job.row.name: job for job in jobs}, folder.resolve())
    cases = [job.case for job in in_order(jobs)]
    report = run_cases(cases, setup, folder, config=engine, progress=progress)
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
    if folder.exists() and (not folder.is_dir() or not all(_unfinished(one) for one in folder.iterdir())):
        raise PhysPlanError(f"{folder} holds something else than a batch: choose a new folder with -o.")
    write_json(folder / RECORD, provenance(protocol="batch", settings={}))


def _unfinished(path: Path) -> bool:
    """Whether a file is what a kill leaves of the record itself, which the next write removes."""
    return path.name.startswith(TEMPORARY) and path.suffix == Path(RECORD).suffix and not path.is_symlink()


def make_video_maker(jobs: Mapping[str, Job], folder: Path) -> CaseFunction:
    """Models are kept from row to row as long as their settings stay the same."""
    from physplan.pipeline import PhysPlan

    kept: dict[str, PhysPlan] = {}
    shared = shared_groups(list(jobs.values()))

    def make(case: Case, directory: Path) -> Mapping[str, Any]:
        job = jobs[case.name]
        require_total(job.config.runtime.total_ledger)
        if job.model_key not in kept:
            kept.clear()  # two sets of models may not fit
            kept[job.model_key] = PhysPlan(job.config)
        pp, reuse, seconds = kept[job.model_key], None, 0.0
        if job.group in shared:
            rows = [one.run_folder(folder) for one in jobs.values() if one.group == job.group]
            reuse, seconds = shared_stages(pp, job.row, job.group, folder, rows)
        made = pp.generate(**arguments(job.row), output_dir=directory / "run", reuse=reuse)
        shutil.copyfile(directory / "run" / VIDEO, directory / VIDEO)
        own = {stage: one for stage, one in made.cost.seconds.items() if not reuse or stage not in STAGES}
        return {
            "frames": len(made.video),
            "fps": made.fps,
            "seconds": round(seconds + sum(own.values()), 3),
            "calls": made.cost.calls.calls,
            "usd": made.cost.usd,
            "notes": list(made.notes),
            "verdict": made.verdict.verdict,
            "attempts": [asdict(one) for one in made.attempts],
        }

    return make

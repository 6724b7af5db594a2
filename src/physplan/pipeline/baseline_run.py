"""The video model alone, with the run's seed, in a folder of its own below the run's: to hold beside it."""

from __future__ import annotations

from dataclasses import replace

from physplan.methods.base import BASE
from physplan.pipeline.attempts import through
from physplan.pipeline.run import Run, begin
from physplan.pipeline.stage_keys import digest
from physplan.pipeline.stage_runner import do_stages, load_plan, stages_of
from physplan.report import write_report
from physplan.runs import RunFolder, layout


def make_base(run: Run) -> None:
    """Checked by the run's plan, as the run's own video is."""
    plan = load_plan(run)
    seed = next((one.seed for one in layout.load_attempts(run.folder.path) if one.chosen), run.inputs.seed)
    base = replace(
        run,
        folder=RunFolder(run.folder / layout.BASE),
        inputs=replace(
            run.inputs, method=BASE.name, seed=seed, attempts=1, plan=digest(plan.to_json()), keyframes=None
        ),
        plan=plan,
        keyframes=None,
        callback=None,
        on_event=through(run.on_event, "the video model alone", "video"),
    )
    with base.folder.locked():
        begin(base, redo=True)
        do_stages(base, stages_of(base))
        write_report(base.folder)

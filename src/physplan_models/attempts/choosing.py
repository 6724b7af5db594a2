"""Which of several videos of one plan is kept by `best_of_n`: a number for each, higher is better."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from physplan.files import write_json
from physplan.pipeline.run import Run
from physplan.runs import RunFolder, file_digest, layout


def preferences(run: Run, folders: Sequence[RunFolder]) -> list[float] | None:
    """By surprise or by a judge; None: the verdict's score decides."""
    by = run.config.best_of_n.by if run.method.chooses else "verdict"
    if by == "verdict":
        return None
    return by_surprise(run, folders) if by == "surprise" else [_by_judge(run, one.path) for one in folders]


def by_surprise(run: Run, folders: Sequence[RunFolder]) -> list[float]:
    """Minus V-JEPA 2's surprise: the less a video surprises, the better."""
    from physplan_models.attempts.surprise import VJEPASurprise

    wanted = run.config
    source = {} if wanted.best_of_n.surprise is None else {"source": wanted.best_of_n.surprise}
    local = {"local_files_only": True} if wanted.runtime.local_files_only else {}
    device = "cpu" if wanted.runtime.device == "auto" else wanted.runtime.device
    score = VJEPASurprise.from_pretrained(**source, device=device, **local)  # type: ignore[arg-type]
    return [-score(layout.load_video(one.path).frames.to(device)) for one in folders]


def _by_judge(run: Run, folder: Path) -> float:
    """The share of the plan's statements that the judge finds true; its answers stay beside the video."""
    from physplan.calls.named import connect_named
    from physplan.verify.by_judge import ask_judge

    wanted = run.config.runtime
    gateway, model = connect_named(
        run.config.best_of_n.judge or "", run.calls, consent=wanted.allow_hosts, **wanted.paying
    )
    plan, video = layout.load_plan(folder), layout.load_video(folder)
    judged = ask_judge(plan, video.frames, gateway=gateway, model=model, fps=video.fps)
    write_json(folder / layout.JUDGE, judged.to_json() | {"video": file_digest(folder / layout.EXACT_VIDEO)})
    return judged.score

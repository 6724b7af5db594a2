"""Stage 6: one plan, one keyframe and one video as the preset asks for them, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from physplan.calls.ledger import BudgetExceeded, Ledger
from physplan.calls.protocol import CallFault
from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config
from physplan.pipeline.requirements import callers_lack
from physplan.presets import WEIGHTS
from physplan.runs import layout
from physplan.video.known import ServedVideoModel, video_model
from physplan_bench.accept.context import PROMPT, Acceptance, photograph
from physplan_bench.accept.findings import Finding, StageResult
from physplan_bench.accept.parts import folders

SENTENCE = "the cup falls off the table"
NO_SERVICE = ("sandbox", "verbs")  # reasoners without API calls
ON_THIS_MACHINE = ("sandbox", "compose")  # editors without a model of their own


def call(here: Acceptance) -> StageResult:
    config = here.config
    findings: list[Finding] = []
    if config.reasoner.name not in NO_SERVICE:
        findings += _tried(
            here, "plan", lambda pp: pp.plan(photograph(), SENTENCE, output_dir=_at(here, "plan"))
        )
    if config.editor.name not in ON_THIS_MACHINE:
        findings += _tried(
            here,
            "keyframe",
            lambda pp: pp.keyframes(here.picture, **_one_plan(here), output_dir=_at(here, "keyframe")),
        )
    if config.video.model == "server":
        findings += _tried(
            here,
            "video",
            lambda pp: pp.generate(here.picture, PROMPT, method="base", output_dir=_at(here, "video")),
        )
    if not findings:
        findings.append(Finding(name="services", level="skipped", meaning="this preset calls none"))
    return StageResult(stage=6, findings=findings)


def _lacks(config: Config, what: str) -> str | None:
    """The key, server or weights without which it cannot be asked here."""
    if what == "video":
        model = video_model(config.video.model)
        found = list(model.served_lacks(config)) if isinstance(model, ServedVideoModel) else []
    else:
        found = list(callers_lack(config, ["plan"] if what == "plan" else ["keyframes"]))
    if found:
        return f"it lacks {found[0].what}: {found[0].fix}"
    options = config.editor.options if what == "keyframe" else {}
    away = [name for key in WEIGHTS if (name := options.get(key)) and not folders(str(name))]
    return f"the weights of the editor are not here: physplan models get {config.preset}" if away else None


def _one_plan(here: Acceptance) -> dict[str, object]:
    return {"plan": here.given["plan"]}


def _at(here: Acceptance, what: str) -> Path:
    return here.folder / "runs" / f"service-{what}"


def _tried(here: Acceptance, what: str, ask: Callable[..., object]) -> Iterator[Finding]:
    from physplan.pipeline import PhysPlan

    spent = str(here.folder / "spent.jsonl")
    runtime = replace(here.config.runtime, budget=here.budget, total_budget=here.budget, total_ledger=spent)
    try:
        lacks = _lacks(here.config, what)
        if lacks is None:
            ask(PhysPlan(replace(here.config, runtime=runtime)))
    except (PhysPlanError, ValueError) as error:
        if not here.budget and any(isinstance(one, BudgetExceeded) for one in causes(error)):
            meaning = "it costs money: give --budget USD"
            yield Finding(name=f"one {what}", level="skipped", meaning=meaning)
        else:
            yield Finding(name=f"one {what}", level="failure", meaning=_why(error))
        return
    if lacks is not None:
        yield Finding(name=f"one {what}", level="skipped", meaning=lacks)
        return
    path = _at(here, what) / layout.LEDGER
    paid = Ledger(path).totals() if path.is_file() else None
    yield Finding(name=f"one {what}", level="pass", value=f"{paid.calls if paid else 0} calls")
    yield Finding(name=f"one {what}, USD", level="pass", value=round(float(paid.usd), 5) if paid else 0.0)


def causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__


def _why(error: BaseException) -> str:
    """What the service said of the key, where it is that."""
    refused = any(isinstance(one, CallFault) and one.status in (401, 403) for one in causes(error))
    return ("the key is refused: " if refused else "") + str(error).splitlines()[0]

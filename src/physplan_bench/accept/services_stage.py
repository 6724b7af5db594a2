"""Stage 6: with keys or servers, one plan, one keyframe and one video by the real service, and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from physplan.calls.ledger import Ledger
from physplan.calls.protocol import CallFault
from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config
from physplan.runs import layout
from physplan_bench.accept.context import Acceptance, photograph
from physplan_bench.accept.findings import Finding, StageResult

SENTENCE = "the cup falls off the table"
NO_SERVICE = ("sandbox", "verbs")  # reasoners without API calls
ON_THIS_MACHINE = ("sandbox", "compose")  # editors without API calls; a diffusers editor has `source`


def call(here: Acceptance) -> StageResult:
    config = here.config
    findings: list[Finding] = []
    if config.reasoner.name not in NO_SERVICE:
        findings += _tried(
            here, "plan", lambda pp: pp.plan(photograph(), SENTENCE, output_dir=_at(here, "plan"))
        )
    if _draws_by_service(config):
        findings += _tried(
            here,
            "keyframe",
            lambda pp: pp.keyframes(here.picture, **_one_plan(here), output_dir=_at(here, "keyframe")),
        )
    if config.video.model == "server":
        findings += _tried(
            here,
            "video",
            lambda pp: pp.generate(
                here.picture, "the ball drops", method="base", output_dir=_at(here, "video")
            ),
        )
    if not findings:
        findings.append(Finding(name="services", level="skipped", meaning="this preset calls none"))
    return StageResult(stage=6, findings=findings)


def _draws_by_service(config: Config) -> bool:
    from physplan.keyframes.registry import EDITORS

    return config.editor.name not in ON_THIS_MACHINE and hasattr(EDITORS.load(config.editor.name), "connect")


def _one_plan(here: Acceptance) -> dict[str, object]:
    return {"plan": here.given["plan"]}


def _at(here: Acceptance, what: str) -> Path:
    return here.folder / "runs" / f"service-{what}"


def _tried(here: Acceptance, what: str, ask: Callable[..., object]) -> Iterator[Finding]:
    from physplan.pipeline import PhysPlan

    runtime = replace(here.config.runtime, budget=here.budget)
    try:
        ask(PhysPlan(replace(here.config, runtime=runtime)))
    except (PhysPlanError, ValueError) as error:
        yield Finding(name=f"one {what}", level="failure", meaning=_why(error))
        return
    path = _at(here, what) / layout.LEDGER
    paid = Ledger(path).totals() if path.is_file() else None
    yield Finding(name=f"one {what}", level="pass", value=f"{paid.calls if paid else 0} calls")
    yield Finding(name=f"one {what}, USD", level="pass", value=round(float(paid.usd), 5) if paid else 0.0)


def _why(error: BaseException) -> str:
    """What the service said of the key, where it is that."""
    causes: list[BaseException] = []
    one: BaseException | None = error
    while one is not None:
        causes.append(one)
        one = one.__cause__ or one.__context__
    refused = any(isinstance(cause, CallFault) and cause.status in (401, 403) for cause in causes)
    return ("the key is refused: " if refused else "") + str(error).splitlines()[0]

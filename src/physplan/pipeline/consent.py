"""Settings that are a person's consent: where a key may go, what a call counts as, which ledger is written.

They come from the command line, the environment or Python code. What can be passed on (config files, batch
rows, run folders, workflows, requests of a page) goes through `refuse_consent`, which compares values, not
names: a nested mapping says the same as a dotted name. Of a video `FROM_VIDEOS` alone is taken.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from physplan.errors import PhysPlanError
from physplan.pipeline.config import Config

CONSENT = {
    "runtime.allow_hosts": "--allow-host HOST",
    "runtime.prices": "--set runtime.prices=FILE",
    "runtime.total_budget": "--budget USD",
    "runtime.total_ledger": "--set runtime.total_ledger=FILE",
}
# What a stranger's video may decide: how something is made, by no path, address, model or back end. These are
# whole names; what is not here stays as the preset has it, or is typed.
FROM_VIDEOS = frozenset(
    (
        *(f"reasoner.{name}" for name in ("temperature", "max_events", "retries", "regenerations")),
        *("editor.seed", "editor.redraws", "editor.check"),
        *(f"video.{name}" for name in ("height", "width", "num_frames", "fit", "fps", "dtype")),
        *(f"video.{name}" for name in ("num_inference_steps", "guidance_scale", "use_dynamic_cfg", "eta")),
        "video.negative_prompt",
        *("guidance", "guided_sketch", "frame_guidance", "sketch", "conditioned"),
    )
)


def refuse_consent(before: Config, after: Config, where: str) -> Config:
    """`after`, unless what `where` holds has changed a setting of `CONSENT`."""
    for name, typed in CONSENT.items():
        if _value(after, name) != _value(before, name):
            raise PhysPlanError(
                f"{where} sets {name}, which only the command line may: remove it there, and give {typed} "
                "if that is what you want."
            )
    return after


def refuse_looser(typed: Config, after: Config, where: str) -> Config:
    """`after`, unless a row of a file undoes a limit that was typed for all rows."""
    before, now = typed.runtime, after.runtime
    if before.budget is not None and (now.budget is None or now.budget > before.budget):
        raise PhysPlanError(f"{where} sets runtime.budget above the {before.budget:g} USD that were typed.")
    for name in ("offline", "local_files_only"):
        if getattr(before, name) and not getattr(now, name):
            raise PhysPlanError(f"{where} switches off runtime.{name}, which was typed: remove it there.")
    return after


def without_consent(settings: dict[str, Any]) -> dict[str, Any]:
    """A config as `to_plain` gives it, for a file: what was allowed once is not allowed by a copy of it."""
    kept = {name: dict(value) if isinstance(value, dict) else value for name, value in settings.items()}
    for name in CONSENT:
        part, field = name.split(".")
        kept.get(part, {}).pop(field, None)
    return kept


def _value(config: Config, name: str) -> Any:
    return reduce(getattr, name.split("."), config)

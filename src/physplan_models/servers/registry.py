"""The dialects by name."""

from __future__ import annotations

from physplan.errors import PhysPlanError
from physplan.registry import did_you_mean
from physplan_models.servers import gemini, openrouter, sglang, vllm_omni
from physplan_models.servers.protocol import Dialect

DIALECTS: dict[str, Dialect] = {
    "vllm_omni": vllm_omni.DIALECT,
    "sglang": sglang.DIALECT,
    "openrouter": openrouter.DIALECT,
    "gemini": gemini.DIALECT,
}


def find_dialect(name: str | None) -> Dialect:
    if name is None:
        raise PhysPlanError(
            f"video.model server needs video.dialect, the server's protocol: {', '.join(DIALECTS)}."
        )
    if name not in DIALECTS:
        raise PhysPlanError(f"There is no dialect {name!r}. {did_you_mean(name, DIALECTS)}")
    return DIALECTS[name]

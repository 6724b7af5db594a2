"""The model-backed reasoners: `paper` asks Gemini, `open` a server that speaks OpenAI's protocol."""

from __future__ import annotations

from dataclasses import replace

from physplan.calls.addresses import chosen_url
from physplan.calls.gateway import Gateway
from physplan.calls.settings import CallSettings, connect
from physplan.reasoning.ablations import FullGraphReasoner, PromptDerivedReasoner
from physplan.reasoning.vlm import MotionReasoner, VLMReasoner

PAPER_MODEL = "gemini-3-flash-preview"
OPEN_MODEL = "Qwen/Qwen3-VL-8B-Instruct"
OPEN_URL = "http://localhost:8000/v1"  # where vLLM serves by default


def paper(settings: CallSettings) -> VLMReasoner:
    return _paper(VLMReasoner, settings)


def paper_prompt_derived(settings: CallSettings) -> VLMReasoner:
    return _paper(PromptDerivedReasoner, settings)


def paper_full_graph(settings: CallSettings) -> VLMReasoner:
    return _paper(FullGraphReasoner, settings)


def paper_motion(settings: CallSettings) -> VLMReasoner:
    return _paper(MotionReasoner, settings)


def open_motion(settings: CallSettings) -> VLMReasoner:
    return _open(MotionReasoner, settings)


def open_weights(settings: CallSettings) -> VLMReasoner:
    return _open(VLMReasoner, settings)


def open_prompt_derived(settings: CallSettings) -> VLMReasoner:
    return _open(PromptDerivedReasoner, settings)


def open_full_graph(settings: CallSettings) -> VLMReasoner:
    return _open(FullGraphReasoner, settings)


def _paper(kind: type[VLMReasoner], settings: CallSettings) -> VLMReasoner:
    return _reasoner(kind, connect("gemini", settings), settings.model or PAPER_MODEL, settings)


def _open(kind: type[VLMReasoner], settings: CallSettings) -> VLMReasoner:
    url = settings.base_url or chosen_url("openai") or OPEN_URL
    gateway = connect("openai", replace(settings, base_url=url))
    return _reasoner(kind, gateway, settings.model or OPEN_MODEL, settings)


def _reasoner(kind: type[VLMReasoner], gateway: Gateway, model: str, settings: CallSettings) -> VLMReasoner:
    return kind(
        gateway, model, temperature=settings.temperature, max_output_tokens=settings.max_output_tokens
    )

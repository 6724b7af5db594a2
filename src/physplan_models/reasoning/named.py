"""The model-backed reasoners: `paper` asks Gemini, `open` a server that speaks OpenAI's protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace

from physplan.calls.cost_estimate import CallsOut
from physplan.calls.settings import CallSettings, connect
from physplan.reasoning.templates import PromptSet
from physplan_models.reasoning.ablations import FullGraphReasoner, PromptDerivedReasoner
from physplan_models.reasoning.vlm import MotionReasoner, VLMReasoner


@dataclass(frozen=True)
class ModelReasoner:
    """A reasoner of the registry: which class, and whom it asks."""

    kind: type[VLMReasoner]
    provider: str
    model: str
    url: str | None = None

    @property
    def calls_out(self) -> CallsOut:
        return CallsOut(
            provider=self.provider,
            model=self.model,
            url=self.url,
            calls=self.kind.usual_calls,
            tokens=(3500, 1500),  # as measured over plans of three events with the paper's prompts
        )

    def __call__(self, settings: CallSettings, prompts: PromptSet | None = None) -> VLMReasoner:
        return self.kind(
            connect(self.provider, self.calls_out.at(settings)),
            settings.model or self.model,
            temperature=settings.temperature,
            max_output_tokens=settings.max_output_tokens,
            prompts=prompts,
        )


paper = ModelReasoner(VLMReasoner, "gemini", "gemini-3-flash-preview")
paper_motion = replace(paper, kind=MotionReasoner)
paper_prompt_derived = replace(paper, kind=PromptDerivedReasoner)
paper_full_graph = replace(paper, kind=FullGraphReasoner)
# Where vLLM serves by default.
open_weights = ModelReasoner(VLMReasoner, "openai", "Qwen/Qwen3-VL-8B-Instruct", "http://localhost:8000/v1")
open_motion = replace(open_weights, kind=MotionReasoner)
open_prompt_derived = replace(open_weights, kind=PromptDerivedReasoner)
open_full_graph = replace(open_weights, kind=FullGraphReasoner)

"""The video model's prompt: the plan in words by rule, rewritten by a model where one is named."""

from __future__ import annotations

from physplan import plugins
from physplan.graph import EventChain
from physplan.graph.happening import words_for_video
from physplan.pipeline.run import Run


def words_of(run: Run, chain: EventChain | None) -> str:
    video = run.config.video
    told = words_for_video(run.inputs.prompt, chain, video.prompt, video.words)
    return str(plugins.load(plugins.entries("words")["polish"])(run, told)) if video.polish else told

"""The questions that a judge is asked: ours, or those of the benchmark's own template file.

PhyJudge was trained on the benchmark's `subq+human.yaml`. With that file given (`--template`) its wording is
used; criteria and sub-questions are not part of it, and ours stand in their places. A JSON file that the
benchmark's code has written (docs/evaluation.md) holds all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import yaml

from physplan.errors import PhysPlanError
from physplan_bench.phyground.laws import GENERAL, HIGHEST, LAWS, LOWEST

SYSTEM = "You rate videos. Look only at what the frames show, and answer with the JSON object asked for."
OURS = """\
These frames, in order of time, are from a video that a model made from its first frame and this prompt:
{prompt}

Rate one thing only, {name}: {question}

Give a whole number from {lowest} (not at all) to {highest} (fully). For a law, judge the physics of what is
seen, not whether the prompt was followed. Answer with a JSON object with the one key "{name}".
"""


@dataclass(frozen=True, kw_only=True)
class Templates:
    """Texts with {prompt}, {questions_block}, {law}, {criteria}; empty: our own question."""

    system: str = SYSTEM
    general: tuple[tuple[str, str], ...] = ()
    law: str = ""
    complete: tuple[tuple[str, str], ...] = ()  # of every dimension, with {prompt} alone to fill in

    def question(self, name: str, prompt: str) -> str:
        """The text that asks for one dimension of a video made from `prompt`."""
        if self.complete:
            return dict(self.complete)[name].replace("{prompt}", prompt)
        known = {**GENERAL, **LAWS}[name]
        text = dict(self.general).get(name) if name in GENERAL else self.law
        if not text:
            return OURS.format(prompt=prompt, name=name, question=known, lowest=LOWEST, highest=HIGHEST)
        fields = {"prompt": prompt, "questions_block": f"- {known}", "law": name, "criteria": known}
        try:
            return text.format(**fields)
        except (KeyError, IndexError, ValueError) as error:
            raise PhysPlanError(f"The template of {name} has an unknown place: {error}.") from error


def read_templates(path: Path) -> Templates:
    """YAML with system_prompt, eval_prompts and physical_template, or JSON with system and questions."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            content = json.loads(text)
            asked = tuple((name, str(content["questions"][name])) for name in (*GENERAL, *LAWS))
            return Templates(system=str(content["system"]), complete=asked)
        content = yaml.safe_load(text)
        general = tuple((name, str(content["eval_prompts"][name])) for name in GENERAL)
        return Templates(
            system=str(content["system_prompt"]), general=general, law=str(content["physical_template"])
        )
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise PhysPlanError(f"{path} is no template file of PhyGround ({error!r}).") from error

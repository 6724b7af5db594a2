"""Which phenomenon a sentence is about; asked before anything is loaded."""

from __future__ import annotations

import re

from physplan.errors import PhysPlanError
from physplan_sandbox.rules import PhenomenonRules, load_rules

MOST_SHOWN = 3  # phenomena in a refusal: those that share most words with the sentence


class NotInTheSandbox(PhysPlanError):
    """A prompt or a scene that the rules do not cover."""

    def hint(self) -> str:
        """What the sandbox can do, and what there is for other pictures."""
        return (
            "What the sandbox knows: physplan sample --list\n"
            "A picture to try: physplan sample ice-tray -o ice.png\n"
            "For pictures of your own: physplan photo PICTURE --prompt TEXT; physplan doctor names other ways"
        )


def matching(prompt: str) -> PhenomenonRules:
    """The phenomenon that a prompt is about; a sentence that names the nearest where it is none."""
    phenomena = load_rules().phenomena.values()
    for rules in phenomena:
        if rules.answers(prompt):
            return rules
    words = set(re.findall(r"[a-z]{3,}", prompt.lower())) - {"the", "over", "with", "from"}
    about = sorted((rules.about for rules in phenomena), key=lambda one: -len(words & set(one.split())))
    raise NotInTheSandbox(
        f"The sandbox does not know what happens when {prompt!r}: of its {len(about)} phenomena it knows how "
        f"{'; '.join(about[:MOST_SHOWN])}. Describe one of these, or use another preset for other scenes."
    )

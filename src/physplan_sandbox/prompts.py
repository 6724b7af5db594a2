"""Which phenomenon a sentence is about; asked before anything is loaded."""

from __future__ import annotations

from physplan.errors import PhysPlanError
from physplan_sandbox.rules import PhenomenonRules, load_rules


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
    """The phenomenon that a prompt is about; a sentence that lists all of them where it is none."""
    phenomena = load_rules().phenomena.values()
    for rules in phenomena:
        if rules.answers(prompt):
            return rules
    known = "; ".join(rules.about for rules in phenomena)
    raise NotInTheSandbox(
        f"The sandbox does not know what happens when {prompt!r}: it knows how {known}. Describe one of "
        "these, or use another preset for other scenes."
    )

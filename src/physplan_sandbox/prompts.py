"""Which phenomenon a sentence is about; asked before anything is loaded."""

from __future__ import annotations

from physplan import machine
from physplan.errors import PhysPlanError
from physplan_sandbox.rules import PhenomenonRules, load_rules


class NotInTheSandbox(PhysPlanError):
    """A prompt or a scene that the rules do not cover."""

    def hint(self) -> str:
        """What the sandbox can do, and what this machine could use for other pictures."""
        name, lacking = machine.nearest_preset()
        needs = "; ".join(f"{item.what} ({item.fix})" for item in lacking)
        return (
            "What the sandbox knows: physplan sample --list\n"
            "A picture to try: physplan sample ice-tray -o ice.png\n"
            f"For pictures of your own: --preset {name}" + (f", which lacks here: {needs}" if needs else "")
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

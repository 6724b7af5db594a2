"""The error a person sees: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations


class PhysPlanError(Exception):
    """Printed by the command line as one line, without a traceback; ends the command with `exit_code`."""

    exit_code = 2

    def hint(self) -> str:
        """What to try instead, in lines of its own; most errors say it in their sentence."""
        return ""

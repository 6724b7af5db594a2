"""What can go wrong with a graph, a delta or an edit set. Every message says where, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from physplan.graph.checks import Violation


class GraphError(ValueError):
    """Base of every error this package raises; the command line prints it as one sentence."""

    exit_code = 2


class ParseError(GraphError):
    """A reply or a file is not what it should be; `at` is the JSON path, or line and column."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(f"{at}: {problem}")
        self.at = at
        self.problem = problem

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, str]]:
        return type(self), (self.at, self.problem)


class LimitError(ParseError):
    """A reply is larger than its limits allow."""


class InvalidGraph(GraphError):
    """A node, an edge or a graph that breaks the rules of the vocabulary."""


class InvalidEdit(GraphError):
    """An edit that is malformed, or that cannot be applied to the graph at hand."""


class InvalidDelta(GraphError):
    """A physical delta that is malformed."""


class TimingError(GraphError):
    """Fractions or a number of frames from which no anchors follow."""


class InvalidChain(GraphError):
    """A plan whose parts do not follow from each other."""


class RejectedEdits(GraphError):
    """An edit set that the checks reject, with the violations."""

    exit_code = 1

    def __init__(self, violations: tuple[Violation, ...], where: str = "the edit set") -> None:
        sentences = " ".join(f"({violation.check}) {violation.message}" for violation in violations)
        super().__init__(f"{where} is rejected: {sentences}")
        self.violations = violations
        self.where = where

    def __reduce__(self) -> tuple[type[RejectedEdits], tuple[tuple[Violation, ...], str]]:
        return type(self), (self.violations, self.where)

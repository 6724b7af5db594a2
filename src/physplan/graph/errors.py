"""What can go wrong with a graph, a delta or an edit set. Every message says where, and what to do."""

from __future__ import annotations


class GraphError(ValueError):
    """Base of every error this package raises; the command line prints it as one sentence."""

    exit_code = 2

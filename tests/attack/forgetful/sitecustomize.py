"""For processes that are started and not forked: a studio that does not know its jobs after a kill."""

from physplan_studio.jobs import JobFiles

JobFiles.load = lambda self: []  # type: ignore[method-assign]

"""The run folder: where a run's artefacts lie, which of them are done, and who is at work on them."""

from physplan.runs.folder import RunFolder
from physplan.runs.memory import PeakMemory
from physplan.runs.records import StageRecord, file_digest

__all__ = ["PeakMemory", "RunFolder", "StageRecord", "file_digest"]

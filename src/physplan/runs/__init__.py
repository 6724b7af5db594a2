"""The run folder: its artefacts, which stages are done, and the lock of the process that works in it."""

from physplan.runs.folder import RunFolder
from physplan.runs.memory import PeakMemory
from physplan.runs.records import StageRecord, file_digest

__all__ = ["PeakMemory", "RunFolder", "StageRecord", "file_digest"]

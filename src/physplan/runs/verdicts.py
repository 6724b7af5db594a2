"""The verdict on a run's video, where it is still the verdict on the video that is there."""

from __future__ import annotations

from physplan.runs import layout
from physplan.runs.folder import RunFolder
from physplan.runs.records import file_digest
from physplan.verify.verdict import Checked, NotChecked

NOT_YET = "the run was made or stopped before it was: run it again to check it"
CHANGED = "the video or its verdict was changed afterwards: run it again to check it"


def verdict_of(folder: RunFolder) -> Checked:
    """A file that was changed since the check is no longer checked."""
    record = folder.record("verdict")
    if record is None:
        return NotChecked(reason=NOT_YET)
    video = folder.record("video")
    changed = record.changed(folder.path) or (video is not None and video.changed(folder.path))
    if changed or any(file_digest(folder / name) != known for name, known in record.made_from.items()):
        return NotChecked(reason=CHANGED)
    return layout.load_verdict(folder.path)

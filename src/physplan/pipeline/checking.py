"""The last stage over values: does the video that was made show what its plan says?"""

from __future__ import annotations

from torch import Tensor

from physplan.errors import PhysPlanError
from physplan.graph import EventChain
from physplan.perception import Evidence
from physplan.pictures import to_tensor
from physplan.pipeline.run import Run
from physplan.verify import Checked, NotChecked, verify_video
from physplan.video.known import video_model


def unchecked(run: Run, chain: EventChain | None) -> str | None:
    """Why this run's video cannot be judged; None where it can."""
    if chain is None:
        return "there is no plan to check it against"
    if not any(event.net_edits for event in chain.events):
        return "its plan names no edits that could be looked for"
    if doubts := video_model(run.config.video.model).warnings(run.picture.image.size):
        return doubts[0]
    return None


def check_video(run: Run, chain: EventChain | None, evidence: Evidence | None, frames: Tensor) -> Checked:
    """Judge frames [F, 3, H, W] as they are in the run's file, with the run's own perception."""
    if (reason := unchecked(run, chain)) or chain is None:
        return NotChecked(reason=reason or "")
    try:
        return verify_video(
            chain,
            run.fit.framed(frames),
            perception=run.backends,
            first_frame=to_tensor(run.frame),
            evidence=evidence,
        )
    except PhysPlanError as error:  # the video is there all the same
        return NotChecked(reason=str(error).rstrip("."))

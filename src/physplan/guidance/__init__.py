"""Graph-guided test-time optimization (section 3.2, appendices A.5 and A.6), and Frame Guidance beside it."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.guidance.ablations import ABLATIONS
    from physplan.guidance.config import GuidanceConfig, MeasureConfig
    from physplan.guidance.guided_video import Guide, guide
    from physplan.guidance.losses import register_loss
    from physplan.guidance.objective import Objective, build_objective
    from physplan.guidance.recipes import FRAME_GUIDANCE, GUIDED_SKETCH, PAPER
    from physplan.guidance.records import GuidanceResult, Progress, StepRecord, StopRun, TermRecord
    from physplan.guidance.sampler import guided_sample
    from physplan.guidance.schedule import Schedule
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "config": "GuidanceConfig MeasureConfig",
            "guided_video": "Guide guide",
            "ablations": "ABLATIONS",
            "recipes": "FRAME_GUIDANCE GUIDED_SKETCH PAPER",
            "losses": "register_loss",
            "objective": "Objective build_objective",
            "records": "GuidanceResult Progress StepRecord StopRun TermRecord",
            "sampler": "guided_sample",
            "schedule": "Schedule",
        },
    )

__all__ = [
    "ABLATIONS", "FRAME_GUIDANCE", "GUIDED_SKETCH", "PAPER", "GuidanceConfig", "GuidanceResult", "Guide",
    "MeasureConfig", "Objective", "Progress", "Schedule", "StepRecord", "StopRun", "TermRecord",
    "build_objective", "guide", "guided_sample", "register_loss",
]  # fmt: skip

"""Graph-guided test-time optimization (section 3.2, appendices A.5 and A.6), and Frame Guidance beside it."""

from typing import TYPE_CHECKING

from physplan.lazy import lazy_names

if TYPE_CHECKING:
    from physplan.guidance.config import GuidanceConfig, MeasureConfig
    from physplan.guidance.guided_video import guide
    from physplan.guidance.methods import ABLATIONS, FRAME_GUIDANCE, METHODS, PHYSPLAN, method_config
    from physplan.guidance.objective import Objective, build_objective, register_loss
    from physplan.guidance.records import GuidanceResult, Progress, StepRecord, StopRun, TermRecord
    from physplan.guidance.sampler import guided_sample
    from physplan.guidance.schedule import Schedule
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "config": "GuidanceConfig MeasureConfig",
            "guided_video": "guide",
            "methods": "ABLATIONS FRAME_GUIDANCE METHODS PHYSPLAN method_config",
            "objective": "Objective build_objective register_loss",
            "records": "GuidanceResult Progress StepRecord StopRun TermRecord",
            "sampler": "guided_sample",
            "schedule": "Schedule",
        },
    )

__all__ = [
    "ABLATIONS",
    "FRAME_GUIDANCE",
    "METHODS",
    "PHYSPLAN",
    "GuidanceConfig",
    "GuidanceResult",
    "MeasureConfig",
    "Objective",
    "Progress",
    "Schedule",
    "StepRecord",
    "StopRun",
    "TermRecord",
    "build_objective",
    "guide",
    "guided_sample",
    "method_config",
    "register_loss",
]

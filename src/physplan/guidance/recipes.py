"""Named guidance settings: the paper's, those that start from the sketch, and Frame Guidance's."""

from __future__ import annotations

from dataclasses import replace

from physplan.guidance.config import GuidanceConfig, MeasureConfig
from physplan.guidance.schedule import FRAME_GUIDANCE as FRAME_GUIDANCE_SCHEDULE
from physplan.guidance.schedule import Schedule

# Algorithm 1 with the constants of section 4 and appendix A.5: from noise, exact gradients, eqs. 4 to 10.
PAPER = GuidanceConfig(
    start="noise", gradient="exact", reevaluate=True, measure=MeasureConfig(ignore_lookalikes=False)
)

# From the noised sketch; terms in their log forms act while one of them is unsatisfied. At most 70 repeats.
GUIDED_SKETCH = GuidanceConfig(
    start="sketch",
    until="satisfied",
    keep=True,
    gradient="fused",
    combine_at="features",
    events_per_repeat=1,
    measure=MeasureConfig(fill="log", suppress="log", fill_matched="all", count="named", satisfied=0.002),
    schedule=Schedule.linear(repeats=5),
)

# Frame Guidance's public code for CogVideoX, from the noise that the other methods start from;
# noise_order="frame_guidance" is the order in which that code draws.
FRAME_GUIDANCE = GuidanceConfig(
    losses=("whole_frame",),
    schedule=FRAME_GUIDANCE_SCHEDULE,
    step_size=3.0,
    outside_weight=1.0,
    normalise="whole",
    update="after",
    window_mode="trailing",
)

# Frame Guidance's public code for Wan: half-size previews of two latents, compared with half-size keyframes.
FRAME_GUIDANCE_WAN = replace(
    FRAME_GUIDANCE,
    schedule=replace(FRAME_GUIDANCE_SCHEDULE, travel=(3, 10)),
    window_length=2,
    preview_downscale=2,
)

"""The figures printed in the paper, as data: rows that stand beside ours, marked "reported"."""

from __future__ import annotations

from physplan.errors import PhysPlanError
from physplan_bench.tables import REPORTED, Column, Row, Table, titled

PHYSICS_IQ_COLUMNS = titled("S.M.", "F.D.", "Optics", "Magn.", "Thermo.", "Avg.", digits=1, best="max")
PHYGENBENCH_COLUMNS = titled("Mechanics", "Optics", "Thermal", "Material", "Avg.", best="max")
VBENCH_COLUMNS = titled("QS", "SC", "BC", "TF", "MS", "DD", "AQ", "IQ", best="max")
FRECHET_COLUMNS = titled(
    "PhyGenBench FID", "PhyGenBench FVD", "Physics-IQ FID", "Physics-IQ FVD", digits=1, best="min"
)
FAILURE_COLUMNS = titled("Reasoning", "Edits", "Keyframe", "Localization", "Guidance", digits=0)
STUDY_COLUMNS = titled("Physical plausibility", "Frame quality", "Temporal smoothness", digits=0)
CHECK_COLUMNS = titled(
    *("First attempt", "After retries", "Rejected", "Coverage", "Grounding", "Consistency", "Lineage"),
    digits=0,
)
TOTAL_COST_COLUMNS = (
    Column(title="Time (s)", digits=1, best="min"),
    Column(title="Peak memory (GB)", digits=2, best="min"),
    Column(title="API cost (USD)", best="min"),
)
STAGE_COST_COLUMNS = (*titled("Model"), *titled("Time (s)", digits=1), *titled("Peak memory (GB)"))
API_COST_COLUMNS = (
    *titled("Calls", digits=1),
    *titled("Tokens in", "Tokens out", digits=0),
    *titled("Images", digits=1),
    *titled("Cost (USD)", digits=3),
)

_FLASH, _PRO_IMAGE = "Gemini 3 Flash", "Gemini 3 Pro Image"
_TABLES: dict[str, tuple[str, tuple[Column, ...], dict[str, tuple[float | str | None, ...]]]] = {
    "physics-iq": (
        "Physics-IQ",
        PHYSICS_IQ_COLUMNS,
        {
            "CogVideoX-I2V-5B": (30.4, 29.8, 16.7, 13.3, 8.5, 27.1),
            "SVD-XT": (21.9, 20.5, 6.8, 8.4, 17.1, 19.1),
            "LTX-Video-I2V": (30.2, 29.8, 15.9, 13.2, 8.4, 26.8),
            "VLIPP": (42.3, 34.1, 16.9, 13.4, 8.8, 34.6),
            "Frame Guidance": (35.4, 27.4, 24.1, 13.9, 8.4, 30.3),
            "PhysPlan": (45.6, 31.8, 30.4, 19.7, 9.5, 38.2),
        },
    ),
    "ablation": (
        "Ablation on Physics-IQ",
        PHYSICS_IQ_COLUMNS,
        {
            "PhysPlan (full)": (45.6, 31.8, 30.4, 19.7, 9.5, 38.2),
            "(i) Prompt-derived plan": (31.1, 30.2, 20.4, 13.8, 8.6, 28.1),
            "(ii) Full-graph regeneration": (35.2, 30.2, 23.6, 15.9, 8.9, 30.9),
            "(iii) Whole-frame L2 loss": (35.4, 27.4, 24.1, 13.9, 8.4, 30.3),
            "(iv) w/o region weighting": (42.8, 30.7, 28.3, 17.1, 9.1, 36.0),
            "(v) w/o appearance": (42.6, 29.4, 25.5, 18.1, 9.3, 35.3),
            "(vi) w/o extent": (43.1, 30.6, 28.7, 18.8, 8.8, 36.2),
            "(vii) w/o position": (40.7, 31.2, 29.2, 17.5, 9.2, 35.0),
            "(viii) w/o depth": (42.9, 31.2, 24.2, 15.4, 8.9, 35.6),
        },
    ),
    "phygenbench": (
        "PhyGenBench (PCA)",
        PHYGENBENCH_COLUMNS,
        {
            "Kling": (0.45, 0.58, 0.50, 0.40, 0.49),
            "Wan2.2-14B": (0.53, 0.61, 0.58, 0.43, 0.54),
            "CogVideoX-5B": (0.39, 0.55, 0.40, 0.42, 0.45),
            "CogVideoX-5B + PhysHPO": (0.55, 0.68, 0.50, 0.65, 0.61),
            "CogVideoX-5B + Chain-of-Events": (0.70, 0.79, 0.77, 0.64, 0.73),
            "LTX-Video": (0.35, 0.45, 0.36, 0.38, 0.39),
            "LTX-Video + CausalMotion": (0.61, 0.71, 0.68, 0.61, 0.65),
            "CogVideoX-I2V-5B": (0.48, 0.69, 0.43, 0.41, 0.52),
            "SVD-XT": (0.46, 0.68, 0.48, 0.41, 0.52),
            "LTX-Video-I2V": (0.47, 0.65, 0.46, 0.37, 0.50),
            "VLIPP": (0.55, 0.71, 0.60, 0.53, 0.60),
            "Frame Guidance": (0.52, 0.56, 0.47, 0.48, 0.51),
            "PhysPlan": (0.81, 0.78, 0.74, 0.75, 0.77),
        },
    ),
    "vbench": (
        "VBench quality",
        VBENCH_COLUMNS,
        {
            "Runway Gen-3": (84.11, 97.10, 96.62, 98.61, 99.23, 60.14, 63.34, 66.82),
            "Kling": (83.39, 98.33, 97.60, 99.30, 99.40, 46.94, 61.21, 65.62),
            "Pika": (82.92, 96.94, 97.36, 99.74, 99.50, 47.50, 62.04, 61.87),
            "Luma": (83.47, 97.33, 97.43, 98.64, 99.35, 44.26, 65.51, 66.55),
            "CogVideoX-I2V-5B": (83.05, 96.45, 96.71, 98.97, 97.20, 69.51, 61.88, 63.33),
            "PhysPlan": (84.88, 97.06, 97.10, 98.72, 98.80, 75.62, 62.20, 65.78),
        },
    ),
    "frechet": (
        "FID and FVD",
        FRECHET_COLUMNS,
        {
            "CogVideoX-I2V-5B": (48.2, 632.8, 55.4, 698.5),
            "Frame Guidance": (46.4, 580.4, 49.2, 603.4),
            "PhysPlan": (45.4, 500.2, 47.7, 495.6),
        },
    ),
    "failures": (
        "Failure attribution (%)",
        FAILURE_COLUMNS,
        {
            "Solid Mechanics": (12.0, 4.0, 30.0, 26.0, 28.0),
            "Fluid Dynamics": (8.0, 3.0, 20.0, 29.0, 40.0),
            "Optics": (10.0, 2.0, 14.0, 52.0, 22.0),
            "Magnetism": (18.0, 5.0, 12.0, 35.0, 30.0),
            "Thermodynamics": (21.0, 6.0, 30.0, 18.0, 25.0),
            "All": (11.0, 4.0, 25.0, 30.0, 30.0),
        },
    ),
    "user-study": (
        "User study: preference for PhysPlan (%)",
        STUDY_COLUMNS,
        {
            "CogVideoX-I2V-5B": (76.0, 63.0, 77.0),
            "Frame Guidance": (68.0, 57.0, 69.0),
            "Pooled": (72.0, 60.0, 73.0),
        },
    ),
    "checks": (
        "Deterministic checks (%)",
        CHECK_COLUMNS,
        {"PhysPlan": (87.0, 97.0, 3.0, 46.0, 31.0, 15.0, 8.0)},
    ),
    "cost-stages": (
        "Runtime per stage, K = 3",
        STAGE_COST_COLUMNS,
        {
            "Scene parsing and decomposition": (_FLASH, 6.8, None),
            "Delta translation and checks": (_FLASH, 4.2, None),
            "Keyframe rendering": (_PRO_IMAGE, 12.5, None),
            "Masks and depth": ("Grounded-SAM-2, Depth Anything V2", 4.0, None),
            "Preview decoding": ("CogVideoX VAE", 24.5, None),
            "Measurement and backpropagation": ("DINOv3, CogVideoX", 214.0, None),
            "Sampling and final decoding": ("CogVideoX", 100.0, None),
            "Total": ("", 366.0, None),
        },
    ),
    "cost-calls": (
        "API cost, K = 3",
        API_COST_COLUMNS,
        {
            "Scene parsing": (1.0, 2500.0, 2500.0, None, 0.009),
            "Phenomenon decomposition": (1.0, 3500.0, 3000.0, None, 0.011),
            "Delta translation": (3.4, 7500.0, 2700.0, None, 0.012),
            "Keyframe instruction": (3.0, 7800.0, 1200.0, None, 0.008),
            "Keyframe rendering": (3.0, None, None, 3.0, 0.405),
            "Total": (None, None, None, None, 0.445),
        },
    ),
    "cost-total": (
        "Total cost per video",
        TOTAL_COST_COLUMNS,
        {
            "CogVideoX-I2V-5B": (100.0, 26.0, None),
            "Frame Guidance": (310.0, 58.0, None),
            "PhysPlan, K = 3": (366.0, 64.0, 0.45),
            "PhysPlan, K = 5": (471.0, 70.0, 0.73),
            "PhysPlan, K = 7": (575.0, 76.0, 1.01),
        },
    ),
}


def reported_rows(name: str) -> tuple[Row, ...]:
    return tuple(Row(label=label, cells=cells, source=REPORTED) for label, cells in _table(name)[2].items())


def reported_table(name: str) -> Table:
    title, columns, _ = _table(name)
    return Table(title=f"{title}, as printed in the paper", columns=columns, rows=reported_rows(name))


def _table(name: str) -> tuple[str, tuple[Column, ...], dict[str, tuple[float | str | None, ...]]]:
    if name not in _TABLES:
        raise PhysPlanError(f"The paper has no table {name!r}: use {', '.join(NAMES)}.")
    return _TABLES[name]


NAMES = tuple(_TABLES)

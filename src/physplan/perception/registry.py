"""The perception backends by name; installed packages register them (docs/extending.md)."""

from __future__ import annotations

from physplan.registry import Registry

SEGMENTERS = Registry("segmenter", {}, group="segmenters")
DEPTH_ESTIMATORS = Registry("depth estimator", {}, group="depth_estimators")
ENCODERS = Registry("feature encoder", {}, group="encoders")

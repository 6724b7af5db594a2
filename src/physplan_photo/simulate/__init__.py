"""Rigid bodies from outlines, simulated by pymunk: falling, tipping, rolling, collisions."""

from physplan_photo.simulate.bodies import Body, Simulated, simulate

__all__ = ["Body", "Simulated", "simulate"]

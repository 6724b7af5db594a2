"""Procedural materials, seeded and animated: flame, smoke, steam, dust, liquids, drops and sparks."""

from physplan_photo.effects.materials import MATERIALS, Emitter, material_of

__all__ = ["MATERIALS", "Emitter", "material_of"]

"""Provenance metadata in a video file: settings, plan, versions, hashes, and signed credentials."""

from physplan.origin.record import Origin, OriginError, read_origin

__all__ = ["Origin", "OriginError", "read_origin"]

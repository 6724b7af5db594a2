"""Where a video comes from, as its own file says it: settings, plan, versions, hashes; and signed."""

from physplan.origin.record import Origin, OriginError, read_origin

__all__ = ["Origin", "OriginError", "read_origin"]

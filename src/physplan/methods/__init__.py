"""Methods by name, one file each: stages, start of sampling, guidance."""

from physplan.methods.method import Method
from physplan.methods.registry import METHODS, find, names

__all__ = ["METHODS", "Method", "find", "names"]

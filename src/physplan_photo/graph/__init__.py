"""The state graph of a photograph: found objects as nodes, relations by geometry."""

from physplan_photo.graph.relations import photo_graph

__all__ = ["photo_graph"]

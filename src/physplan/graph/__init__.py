"""The state graph, its edits and checks, and the event chain (section 3.1, appendix A.1, A.2); no torch."""

from physplan.graph.apply import apply
from physplan.graph.chain import SCHEMA_VERSION, Event, EventChain
from physplan.graph.checks import CHECKS, Violation, check
from physplan.graph.deltas import NewObject, PhysicalDelta, StateChange
from physplan.graph.edits import (
    Consume,
    GraphEdit,
    Link,
    Spawn,
    Unlink,
    Update,
    edit_from_json,
    edits_from_json,
    edits_to_json,
)
from physplan.graph.errors import (
    GraphError,
    InvalidChain,
    InvalidDelta,
    InvalidEdit,
    InvalidGraph,
    LimitError,
    ParseError,
    RejectedEdits,
    TimingError,
)
from physplan.graph.json_values import Limits
from physplan.graph.measures import Term, measure, objects_so_far
from physplan.graph.motion import LAWS, Motion, motion
from physplan.graph.moving import check_motion, motion_of
from physplan.graph.net_differences import net_edits
from physplan.graph.parsing import (
    parse_delta,
    parse_deltas,
    parse_edits,
    parse_file,
    parse_graph,
    parse_json,
    parse_translation,
)
from physplan.graph.state import Edge, Node, StateGraph
from physplan.graph.timing import anchors, rescale
from physplan.graph.vocabulary import (
    ATTRIBUTE_KEYS,
    ATTRIBUTES,
    CONVENTIONS,
    RELATIONS,
    AttributeKey,
    Convention,
    Relation,
)

__all__ = [
    "ATTRIBUTES", "ATTRIBUTE_KEYS", "CHECKS", "CONVENTIONS", "LAWS", "RELATIONS", "SCHEMA_VERSION",
    "AttributeKey", "Consume", "Convention", "Edge", "Event", "EventChain", "GraphEdit", "GraphError",
    "InvalidChain", "InvalidDelta", "InvalidEdit", "InvalidGraph", "LimitError", "Limits", "Link", "Motion",
    "NewObject", "Node", "ParseError", "PhysicalDelta", "RejectedEdits", "Relation", "Spawn", "StateChange",
    "StateGraph", "Term", "TimingError", "Unlink", "Update", "Violation", "anchors", "apply", "check",
    "check_motion", "edit_from_json", "edits_from_json", "edits_to_json", "measure", "motion", "motion_of",
    "net_edits", "objects_so_far", "parse_delta", "parse_deltas", "parse_edits", "parse_file",
    "parse_graph", "parse_json", "parse_translation", "rescale",
]  # fmt: skip

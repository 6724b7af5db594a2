"""Keyframes (section 3.2, A.4): every state drawn from the first frame by an image editor, and checked."""

from physplan.keyframes.protocol import EditRequest, KeyframeEditor, NoPicture

__all__ = ["EditRequest", "KeyframeEditor", "NoPicture"]

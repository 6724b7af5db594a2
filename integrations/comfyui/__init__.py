"""PhysPlan as ComfyUI nodes: put this folder, or a link to it, into ComfyUI's `custom_nodes`."""

from __future__ import annotations

from typing import Any


async def comfy_entrypoint() -> Any:
    from .nodes import PhysPlanExtension

    return PhysPlanExtension()

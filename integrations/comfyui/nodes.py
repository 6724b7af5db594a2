"""The nodes: ComfyUI's side of `work`. One node is one stage, and ComfyUI keeps what it gave out."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import folder_paths
from comfy.model_management import throw_exception_if_processing_interrupted
from comfy.utils import ProgressBar
from comfy_api.latest import ComfyExtension, InputImpl, Types, io, ui
from PIL import Image

from . import work
from .model_files import Models

CATEGORY = "PhysPlan"
Plan = io.Custom("PHYSPLAN_PLAN")
Keyframes = io.Custom("PHYSPLAN_KEYFRAMES")
Evidence = io.Custom("PHYSPLAN_EVIDENCE")
Made = io.Custom("PHYSPLAN_VIDEO")
PREVIEW_SIDE = 512


def models() -> Models:
    """ComfyUI's folders: for models in the layout of diffusers and transformers, and for single files."""
    folders = [Path(folder_paths.models_dir) / "physplan"]
    folders += [Path(folder) for folder in folder_paths.get_folder_paths("diffusers")]
    return Models(folders=folders, find_file=find_file)


def find_file(kind: str, name: str) -> str | None:
    """In subfolders too, as ComfyUI's own loaders do."""
    for listed in folder_paths.get_filename_list(kind):
        if Path(listed).name == name:
            found: str | None = folder_paths.get_full_path(kind, listed)
            return found
    return None


class Watched:
    """Progress and preview for ComfyUI; the stop button ends the sampling at its next step."""

    def __init__(self, preview: Path) -> None:
        self.bar, self.preview, self.seen = ProgressBar(1), preview, 0

    def __call__(
        self, message: str, *, done: float = 0.0, total: float = 0.0, remaining: float | None = None
    ) -> None:
        throw_exception_if_processing_interrupted()
        if total:
            self.bar.update_absolute(round(done), round(total), self._picture())

    def _picture(self) -> tuple[str, Image.Image, int] | None:
        changed = self.preview.stat().st_mtime_ns if self.preview.exists() else 0
        if changed == self.seen:
            return None
        self.seen = changed
        with Image.open(self.preview) as picture:
            return "JPEG", picture.convert("RGB"), PREVIEW_SIDE


class PhysPlanPlan(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanPlan",
            display_name="Plan",
            category=CATEGORY,
            description="What happens next in a picture, as a verified chain of events.",
            inputs=[
                io.Image.Input("image"),
                io.String.Input("prompt", multiline=True, tooltip="What happens, in a sentence."),
                io.Combo.Input("preset", options=list(work.PRESETS), default="sandbox"),
                io.String.Input(
                    "settings",
                    multiline=True,
                    default="",
                    tooltip="Lines of FIELD=VALUE, such as video.fps=16.",
                ),
            ],
            outputs=[Plan.Output(display_name="plan"), io.String.Output(display_name="text")],
        )

    @classmethod
    def execute(cls, image: Any, prompt: str, preset: str, settings: str) -> io.NodeOutput:
        scene = work.plan(image, prompt, preset, settings, models())
        return io.NodeOutput(scene, work.plan_text(scene))


class PhysPlanEditPlan(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanEditPlan",
            display_name="Edit Plan",
            category=CATEGORY,
            description="The plan as JSON, changed by hand and checked. An empty box changes nothing.",
            inputs=[Plan.Input("plan"), io.String.Input("text", multiline=True, default="")],
            outputs=[
                Plan.Output(display_name="plan"),
                io.String.Output(display_name="text"),
                io.String.Output(display_name="notes"),
            ],
        )

    @classmethod
    def execute(cls, plan: work.Scene, text: str) -> io.NodeOutput:
        edited, notes = work.edit_plan(plan, text)
        return io.NodeOutput(edited, work.plan_text(edited), notes)


class PhysPlanShowPlan(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanShowPlan",
            display_name="Show Plan",
            category=CATEGORY,
            description="The plan as a picture: a row for each object, a column for each event.",
            inputs=[Plan.Input("plan")],
            outputs=[io.Image.Output(display_name="image")],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, plan: work.Scene) -> io.NodeOutput:
        image = work.show_plan(plan)
        return io.NodeOutput(image, ui=ui.PreviewImage(image, cls=cls))


class PhysPlanKeyframes(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanKeyframes",
            display_name="Keyframes",
            category=CATEGORY,
            description="A picture of each state. Connect one for each event, of any editor, to use those.",
            inputs=[Plan.Input("plan"), io.Image.Input("images", optional=True)],
            outputs=[
                Keyframes.Output(display_name="keyframes"),
                io.Image.Output(display_name="images"),
                io.String.Output(display_name="report"),
            ],
        )

    @classmethod
    def execute(cls, plan: work.Scene, images: Any = None) -> io.NodeOutput:
        return io.NodeOutput(*work.keyframes(plan, images))


class PhysPlanEvidence(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanEvidence",
            display_name="Evidence",
            category=CATEGORY,
            description="A mask of every object in the first frame and every keyframe. Connect the masks "
            "again, changed, to use those.",
            inputs=[
                Plan.Input("plan"),
                Keyframes.Input("keyframes"),
                io.Mask.Input("masks", optional=True, tooltip="As many as came out, in their order."),
            ],
            outputs=[
                Evidence.Output(display_name="evidence"),
                io.Mask.Output(display_name="masks"),
                io.String.Output(display_name="names"),
            ],
        )

    @classmethod
    def execute(cls, plan: work.Scene, keyframes: work.Keyframes, masks: Any = None) -> io.NodeOutput:
        return io.NodeOutput(*work.evidence(plan, keyframes, masks))


class PhysPlanSketch(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanSketch",
            display_name="Sketch",
            category=CATEGORY,
            description="The plan as a crude animation for any video workflow, and where the plan acts.",
            inputs=[Plan.Input("plan"), Evidence.Input("evidence")],
            outputs=[io.Image.Output(display_name="frames"), io.Mask.Output(display_name="masks")],
        )

    @classmethod
    def execute(cls, plan: work.Scene, evidence: Any) -> io.NodeOutput:
        return io.NodeOutput(*work.sketch(plan, evidence))


class PhysPlanGenerate(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanGenerate",
            display_name="Generate",
            category=CATEGORY,
            description="The video, by the preset's own video model, guided by plan and evidence.",
            inputs=[
                Plan.Input("plan"),
                io.Combo.Input("method", options=list(work.METHODS), default="guided_sketch"),
                io.Int.Input("seed", default=0, min=0, max=2**62, control_after_generate=False),
                io.Int.Input("steps", default=0, min=0, max=1000, tooltip="0: as many as the preset has."),
                Keyframes.Input("keyframes", optional=True),
                Evidence.Input("evidence", optional=True),
            ],
            outputs=[
                Made.Output(display_name="made"),
                io.Image.Output(display_name="frames"),
                io.Video.Output(display_name="video"),
            ],
        )

    @classmethod
    def execute(
        cls,
        plan: work.Scene,
        method: str,
        seed: int,
        steps: int,
        keyframes: work.Keyframes | None = None,
        evidence: Any = None,
    ) -> io.NodeOutput:
        with tempfile.TemporaryDirectory(prefix="physplan-", dir=folder_paths.get_temp_directory()) as folder:
            preview = Path(folder) / "preview.png"
            made = work.generate(
                plan,
                method,
                seed,
                drawn=keyframes,
                seen=evidence,
                steps=steps,
                tell=Watched(preview),
                preview=preview,
            )
        frames = made.frames.permute(0, 2, 3, 1).contiguous()
        rate = Fraction(made.run.config.video.clip.fps)
        video = InputImpl.VideoFromComponents(
            Types.VideoComponents(images=frames, audio=None, frame_rate=rate)
        )
        return io.NodeOutput(made, frames, video)


class PhysPlanVerify(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanVerify",
            display_name="Verify",
            category=CATEGORY,
            description="Whether a video shows what the plan says, whoever made it.",
            inputs=[Plan.Input("plan"), io.Image.Input("frames"), Evidence.Input("evidence", optional=True)],
            outputs=[
                io.String.Output(display_name="verdict"),
                io.Float.Output(display_name="score"),
                io.String.Output(display_name="sentence"),
            ],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, plan: work.Scene, frames: Any, evidence: Any = None) -> io.NodeOutput:
        verdict, score, sentence = work.verify(plan, frames, evidence)
        return io.NodeOutput(verdict, score, sentence, ui=ui.PreviewText(sentence))


class PhysPlanSave(io.ComfyNode):
    @classmethod
    def define_schema(cls) -> io.Schema:
        return io.Schema(
            node_id="PhysPlanSave",
            display_name="Save with Metadata",
            category=CATEGORY,
            description="An mp4 that says how it was made: `physplan show` reads it and makes the run again.",
            inputs=[Made.Input("made"), io.String.Input("filename_prefix", default="physplan/video")],
            outputs=[],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, made: work.Made, filename_prefix: str) -> io.NodeOutput:
        height, width = made.frames.shape[-2:]
        folder, name, counter, subfolder, _ = folder_paths.get_save_image_path(
            filename_prefix, folder_paths.get_output_directory(), width, height
        )
        file = f"{name}_{counter:05}_.mp4"
        work.save(made, Path(folder) / file)
        return io.NodeOutput(ui=ui.PreviewVideo([ui.SavedResult(file, subfolder, io.FolderType.output)]))


class PhysPlanExtension(ComfyExtension):
    async def get_node_list(self) -> list[type[io.ComfyNode]]:
        return [
            PhysPlanPlan,
            PhysPlanEditPlan,
            PhysPlanShowPlan,
            PhysPlanKeyframes,
            PhysPlanEvidence,
            PhysPlanSketch,
            PhysPlanGenerate,
            PhysPlanVerify,
            PhysPlanSave,
        ]

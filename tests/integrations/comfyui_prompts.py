"""Workflows as ComfyUI's /prompt takes them; example_workflows holds the same as its page draws them."""

from __future__ import annotations

from typing import Any

Prompt = dict[str, dict[str, Any]]
NEGATIVE = "blurred, static, low quality"


def node(kind: str, **inputs: Any) -> dict[str, Any]:
    return {"class_type": kind, "inputs": inputs}


def planned(image: str, prompt: str, settings: str = "") -> Prompt:
    return {
        "1": node("LoadImage", image=image),
        "2": node("PhysPlanPlan", image=["1", 0], prompt=prompt, preset="sandbox", settings=settings),
    }


def seen(plan: list[Any]) -> Prompt:
    return {
        "3": node("PhysPlanShowPlan", plan=plan),
        "4": node("PhysPlanKeyframes", plan=plan),
        "5": node("PhysPlanEvidence", plan=plan, keyframes=["4", 0]),
    }


def made(plan: list[Any], seed: int) -> Prompt:
    sampled = {"plan": plan, "keyframes": ["4", 0], "evidence": ["5", 0]}
    return {
        "6": node("PhysPlanGenerate", method="physplan", seed=seed, steps=0, **sampled),
        "7": node("PhysPlanVerify", plan=plan, frames=["6", 1], evidence=["5", 0]),
        "8": node("PhysPlanSave", made=["6", 0], filename_prefix="physplan/video"),
        "24": node("PreviewAny", source=["7", 2]),
    }


def sandbox(image: str, prompt: str, *, seed: int = 0, settings: str = "") -> Prompt:
    return {**planned(image, prompt, settings), **seen(["2", 0]), **made(["2", 0], seed)}


def edited(image: str, prompt: str, text: str, *, seed: int = 0, settings: str = "") -> Prompt:
    edit = {"9": node("PhysPlanEditPlan", plan=["2", 0], text=text)}
    return {**planned(image, prompt, settings), **edit, **seen(["9", 0]), **made(["9", 0], seed)}


def wan(image: str, prompt: str) -> Prompt:
    """The sketch as Wan VACE's control video, its masks where the plan acts, the picture as reference."""
    size = {"width": 832, "height": 480, "length": 49, "batch_size": 1, "strength": 1.0}
    fitted = {"upscale_method": "bicubic", "width": 832, "height": 480, "crop": "center"}
    settings = "video.width=832\nvideo.height=480\nvideo.num_frames=49"
    plan = {**planned(image, prompt), **seen(["2", 0])}
    plan["2"]["inputs"] |= {"preset": "open", "settings": settings}
    return {
        **plan,
        "10": node("PhysPlanSketch", plan=["2", 0], evidence=["5", 0]),
        "11": node("UNETLoader", unet_name="wan2.1_vace_1.3B_fp16.safetensors", weight_dtype="default"),
        "12": node("CLIPLoader", clip_name="umt5_xxl_fp8_e4m3fn_scaled.safetensors", type="wan"),
        "13": node("VAELoader", vae_name="wan_2.1_vae.safetensors"),
        "14": node("CLIPTextEncode", clip=["12", 0], text=prompt),
        "15": node("CLIPTextEncode", clip=["12", 0], text=NEGATIVE),
        "16": node("ImageScale", image=["1", 0], **fitted),
        "17": node(
            "WanVaceToVideo", positive=["14", 0], negative=["15", 0], vae=["13", 0], **size,
            control_video=["10", 0], control_masks=["10", 1], reference_image=["16", 0],
        ),
        "18": node(
            "KSampler", model=["11", 0], positive=["17", 0], negative=["17", 1], latent_image=["17", 2],
            seed=0, steps=20, cfg=6.0, sampler_name="uni_pc", scheduler="simple", denoise=1.0,
        ),
        "19": node("TrimVideoLatent", samples=["18", 0], trim_amount=["17", 3]),
        "20": node("VAEDecode", samples=["19", 0], vae=["13", 0]),
        "21": node("PhysPlanVerify", plan=["2", 0], frames=["20", 0], evidence=["5", 0]),
        "24": node("PreviewAny", source=["21", 2]),
        "22": node("CreateVideo", images=["20", 0], fps=16.0),
        "23": node("SaveVideo", video=["22", 0], filename_prefix="physplan/wan", format="auto", codec="auto"),
    }  # fmt: skip

"""How much memory a run needs, known before it starts (the model is described in docs/video.md).

The run is done once on shapes alone: the real networks on torch's meta device, with every allocation and
every tensor kept for a backward pass counted. That takes seconds and no memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from PIL import Image
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from physplan.errors import PhysPlanError
from physplan.video.attention import processors
from physplan.video.encoders import Encoders
from physplan.video.families.base import FamilyModel
from physplan.video.families.family import META
from physplan.video.given import GivenFrame
from physplan.video.loading import DTYPES
from physplan.video.meta_models import folder_networks, folder_scheduler, meta_model
from physplan.video.protocol import Conditioning
from physplan.video.published import PublishedModel
from physplan.video.quantisation import check_network, on_shapes
from physplan.video.streaming import Streaming

GradientMode = Literal["none", "direct", "fused", "exact"]
GB = 1e9


@dataclass(frozen=True, kw_only=True)
class MemoryEstimate:
    """Bytes; `peak` is what must be free."""

    weights: int  # denoisers and autoencoder; of streamed ones what is not in blocks
    encoders: int  # text and picture encoders, while they encode
    denoiser_saved: int  # kept for the backward pass through the denoiser
    decoder_saved: int  # kept for the backward pass through one window's decode
    sampling: int  # the most that activations, and the block that is there, take during a step
    decoding: int  # the most that the final decode takes
    evidence: int  # keyframes, masks and gradients of K anchors
    encoding: int = 0  # the most that encoding a whole clip takes, where the run does that

    @property
    def peak(self) -> int:
        step = self.sampling + self.evidence
        return self.weights + max(self.encoders, self.encoding, step, self.decoding)

    def __str__(self) -> str:
        parts = (
            f"weights {self.weights / GB:.1f}, encoders {self.encoders / GB:.1f}, a step"
            f" {(self.sampling + self.evidence) / GB:.1f}, the final decode {self.decoding / GB:.1f}"
        )
        parts += f", the sketch {self.encoding / GB:.1f}" if self.encoding else ""
        return f"about {self.peak / GB:.1f} GB ({parts})"


def estimate_preset(
    preset: PublishedModel,
    *,
    height: int | None = None,
    width: int | None = None,
    num_frames: int | None = None,
    anchors: int = 3,
    gradient_mode: GradientMode = "fused",
    checkpointing: bool = True,
    keyframes: int = 0,
    offload: str = "none",
    tiling: bool = False,
    quantisation: str | None = None,
    clip: bool = False,
    eta: float = 0.0,
    use_dynamic_cfg: bool = False,
    attention: str | None = None,
) -> MemoryEstimate:
    """The memory of a run with a published model, at its own size unless told, before it is fetched."""
    dtype = DTYPES[preset.dtype]
    model = published_on_meta(preset, checkpointing=checkpointing)
    return estimate(
        model,
        height=height or preset.height,
        width=width or preset.width,
        num_frames=num_frames or preset.num_frames,
        guidance_scale=preset.guidance_scale,
        anchors=anchors,
        gradient_mode=gradient_mode,
        keyframes=keyframes,
        offload=offload,
        tiling=tiling,
        quantisation=quantisation,
        clip=clip,
        eta=eta,
        use_dynamic_cfg=use_dynamic_cfg,
        attention=attention,
        encoder_bytes=int(preset.encoder_parameters * 1e9 * dtype.itemsize),
    )


def published_on_meta(preset: PublishedModel, *, checkpointing: bool = True) -> FamilyModel:
    return meta_model(
        preset.pipeline,
        preset.networks,
        preset.settings,
        dtype=DTYPES[preset.dtype],
        checkpointing=checkpointing,
        scheduler=preset.scheduler,
    )


def estimate_folder(
    folder: Path, *, dtype: str = "bf16", checkpointing: bool = True, **run: Any
) -> MemoryEstimate:
    """The memory of a run with a local model, from its configs and file sizes; `run` as in `estimate`."""
    pipeline, networks, settings = folder_networks(folder)
    model = meta_model(
        pipeline,
        networks,
        settings,
        dtype=DTYPES[dtype],
        checkpointing=checkpointing,
        scheduler=folder_scheduler(folder),
    )
    files = [f for part in Encoders.NAMES for f in (folder / part).glob("*.safetensors")]
    return estimate(model, encoder_bytes=sum(f.stat().st_size for f in files), **run)


def estimate(
    model: FamilyModel,
    *,
    height: int,
    width: int,
    num_frames: int,
    guidance_scale: float,
    anchors: int = 3,
    gradient_mode: GradientMode = "fused",
    encoder_bytes: int = 0,
    keyframes: int = 0,
    offload: str = "none",
    tiling: bool = False,
    quantisation: str | None = None,
    clip: bool = False,
    eta: float = 0.0,
    use_dynamic_cfg: bool = False,
    attention: str | None = None,
) -> MemoryEstimate:
    """Run one guided step and the final decode of a meta-device model, and count; with `clip` also what
    encodes a sketch, or the still clip of bystanders that are held in latents. What the model would refuse
    is refused."""
    if attention is not None:
        processors(model, attention)
    if quantisation is not None:
        model.compute_dtype = model.dtype
        for network in model.denoisers:
            check_network(quantisation, denoisers=len(model.denoisers), network=type(network))
            on_shapes(network, quantisation, model.compute_dtype)
    if offload in ("group", "disk"):  # as the loader does it
        model.denoiser_checkpointing = None
        for network in model.denoisers:
            network.disable_gradient_checkpointing()
            model.streaming.append(Streaming(network, META))
    picture = Image.new("RGB", (width, height))
    places = model.keyframe_places(model.check_size(height=height, width=width, num_frames=num_frames))
    conditioning = model.prepare(
        image=picture,
        keyframes=[GivenFrame(frame=frame, image=picture) for frame in (places or (1,))[:keyframes]],
        prompt="",
        height=height,
        width=width,
        num_frames=num_frames,
        num_inference_steps=2,
        guidance_scale=guidance_scale,
        use_dynamic_cfg=use_dynamic_cfg,
        eta=eta,
        generator=torch.Generator(),
    )
    denoiser_saved, decoder_saved, sampling = measure_step(model, conditioning, gradient_mode)
    with Allocated(parameters(model)) as decoding:
        model.decode(conditioning.latents, conditioning.layout, tiled=tiling)
    with Allocated(parameters(model)) as encoding:
        if clip:
            model.encode_frames(torch.empty(num_frames, 3, height, width, device=META), conditioning.layout)
    frame = 3 * height * width * 4
    return MemoryEstimate(
        weights=resident_weights(model, offload),
        encoders=encoder_bytes,
        denoiser_saved=denoiser_saved,
        decoder_saved=decoder_saved,
        sampling=sampling,
        decoding=decoding.peak,
        encoding=encoding.peak,
        evidence=anchors * (3 * frame + conditioning.latents.numel() * 4),
    )


def measure_step(
    model: FamilyModel, conditioning: Conditioning, gradient_mode: GradientMode
) -> tuple[int, int, int]:
    """Bytes saved by the denoiser, saved by one window's decode, and the most allocated in a guided step."""
    through_denoiser = gradient_mode in ("fused", "exact")
    denoiser, decoder = Saved(parameters(model)), Saved(parameters(model))
    layout = conditioning.layout
    with Allocated(parameters(model)) as allocated:
        z = conditioning.latents.detach().clone().requires_grad_(through_denoiser)
        with torch.set_grad_enabled(through_denoiser), denoiser.counted():
            clean = conditioning.noise.clean_estimate(z, model.predict(z, 0, conditioning), 0)
        if gradient_mode != "none":
            window = layout.window(layout.num_frames - 1, model.preview_length, model.preview_mode)
            leaf = clean.detach()[:, :, window.latents].clone().requires_grad_()
            with decoder.counted():
                frame = model.decode_window(leaf, window)
            torch.autograd.grad(frame, leaf, torch.ones_like(frame))
            del frame
        if through_denoiser:
            torch.autograd.grad(clean, z, torch.ones_like(clean))
    return denoiser.bytes, decoder.bytes, allocated.peak


def require_memory(needed: MemoryEstimate, device: torch.device) -> None:
    """Refuse a run that cannot fit, before anything is loaded."""
    free = available_memory(device)
    if free is not None and needed.peak > free:
        raise PhysPlanError(
            f"This run needs {needed}, and {free / GB:.1f} GB are free on {device}: use a smaller size or"
            " fewer frames, gradient mode direct, runtime.tiling, another offload, a smaller model, or a"
            " larger device."
        )


def available_memory(device: torch.device) -> int | None:
    """Bytes free on a device, within this process's own limit; None when that cannot be known."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    lines = _read_if_there(Path("/proc/meminfo")).splitlines()
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    group = Path("/sys/fs/cgroup")
    limit, used = (_read_if_there(group / f"memory.{name}").strip() for name in ("max", "current"))
    found += [int(limit) - int(used)] if limit.isdigit() and used.isdigit() else []  # "max": no limit
    return min(found, default=None)


def _read_if_there(path: Path) -> str:
    """Nothing where the kernel does not tell (not Linux, no control group): then the amount is not known."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def resident_weights(model: FamilyModel, offload: str = "none") -> int:
    """Bytes at rest on the device: without streamed blocks; of models that take turns the larger."""
    if offload == "model":
        return max(_of(network) for network in (*model.denoisers, model.codec.vae))  # type: ignore[attr-defined]
    return _bytes(parameters(model))


def _of(network: Any) -> int:
    return _bytes([*network.parameters(), *network.buffers()])


def _bytes(tensors: list[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def parameters(model: FamilyModel) -> list[Tensor]:
    """The weights of denoisers and autoencoder."""
    codec = getattr(model.codec, "vae", None)  # the sandbox's is no diffusers autoencoder
    networks = [*model.denoisers, *([codec] if codec is not None else [])]
    return [tensor for network in networks for tensor in (*network.parameters(), *network.buffers())]


class Saved:
    """Bytes that autograd keeps for a backward pass, each storage once, without the weights."""

    def __init__(self, weights: list[Tensor]) -> None:
        self.bytes = 0
        self._seen = {w.untyped_storage()._cdata for w in weights}
        self._alive: list[Any] = []  # a freed storage's address would be counted as seen

    @contextmanager
    def counted(self) -> Iterator[None]:
        def pack(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in self._seen:
                self._seen.add(storage._cdata)
                self._alive.append(storage)
                self.bytes += storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            yield
        self._alive.clear()


class Allocated(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The most bytes alive at once in tensors made inside this block; views of the weights are not."""

    def __init__(self, weights: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._weights = [w.untyped_storage() for w in weights]  # a freed one's address would not be counted
        self._alive = {storage._cdata for storage in self._weights}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                self._watch(tensor.untyped_storage())
        return result

    def _watch(self, storage: Any) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._alive:
            return
        self._alive.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, key, size)

    def _free(self, key: int, size: int) -> None:
        self._alive.discard(key)
        self.now -= size

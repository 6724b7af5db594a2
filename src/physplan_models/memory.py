"""How much memory a run needs, known before it starts (the model is described in docs/video.md).

The run is done once on shapes alone: the real networks on torch's meta device, with every allocation and
every tensor kept for a backward pass counted. That takes seconds and no memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from physplan.pipeline.events import quiet_libraries
from physplan.video.base import FamilyModel
from physplan.video.keyframe_conditioning import GivenFrame
from physplan.video.memory import GradientMode, MemoryEstimate, MemoryRequest
from physplan.video.protocol import Conditioning, VideoRequest
from physplan.weights import DTYPES
from physplan_models.attention import processors
from physplan_models.encoders import Encoders
from physplan_models.families.family import META
from physplan_models.meta_models import folder_networks, folder_scheduler, meta_model
from physplan_models.published import PublishedModel
from physplan_models.quantisation import check_network, on_shapes
from physplan_models.streaming import Streaming
from physplan_models.tiny_decoder import TinyDecoder, TinyPreviews


def estimate_preset(preset: PublishedModel, **run: Any) -> MemoryEstimate:
    """The memory of a run with a published model before it is fetched; `run`: fields of `MemoryRequest`,
    of which the model's own are the default."""
    quiet_libraries()
    own = {name: getattr(preset, name) for name in ("height", "width", "num_frames", "guidance_scale")}
    request = MemoryRequest(**own | run)
    model = published_on_meta(preset, checkpointing=request.checkpointing)
    encoders = int(preset.encoder_parameters * 1e9 * DTYPES[preset.dtype].itemsize)
    return estimate(model, request, encoders)


def estimate_folder(folder: Path, *, dtype: str = "bf16", **run: Any) -> MemoryEstimate:
    """The memory of a run with a local model, from its configs and file sizes."""
    request = MemoryRequest(**run)
    pipeline, networks, settings = folder_networks(folder)
    model = meta_model(
        pipeline,
        networks,
        settings,
        dtype=DTYPES[dtype],
        checkpointing=request.checkpointing,
        scheduler=folder_scheduler(folder),
    )
    files = [f for part in Encoders.NAMES for f in (folder / part).glob("*.safetensors")]
    return estimate(model, request, sum(f.stat().st_size for f in files))


def published_on_meta(preset: PublishedModel, *, checkpointing: bool = True) -> FamilyModel:
    return meta_model(
        preset.pipeline,
        preset.networks,
        preset.settings,
        dtype=DTYPES[preset.dtype],
        checkpointing=checkpointing,
        scheduler=preset.scheduler,
    )


def estimate(model: FamilyModel, request: MemoryRequest, encoder_bytes: int) -> MemoryEstimate:
    """Run one guided step and the final decode of a meta-device model, and count. What the model would
    refuse is refused."""
    _hold_weights(model, request)
    if request.tiny_decoder:
        model.tiny = tiny_on_meta(model)
    conditioning = _conditioning(model, request)
    denoiser_saved, decoder_saved, sampling = measure_step(model, conditioning, request.gradient_mode)
    with Allocated(parameters(model)) as decoding:
        model.decode(conditioning.latents, conditioning.layout, tiled=request.tiling)
    with Allocated(parameters(model)) as encoding:
        if request.clip:
            clip = torch.empty(request.num_frames, 3, request.height, request.width, device=META)
            model.encode_frames(clip, conditioning.layout)
    frame = 3 * request.height * request.width * 4
    return MemoryEstimate(
        weights=resident_weights(model, request.offload),
        encoders=encoder_bytes,
        denoiser_saved=denoiser_saved,
        decoder_saved=decoder_saved,
        sampling=sampling,
        decoding=decoding.peak,
        encoding=encoding.peak,
        evidence=request.anchors * (3 * frame + conditioning.latents.numel() * 4),
    )


def tiny_on_meta(model: FamilyModel) -> TinyPreviews:
    """The small decoder of the published shape for this model's autoencoder; 25 MB at most."""
    codec = model.codec
    with META:
        network = TinyDecoder.published(
            channels=codec.channels, spatial=codec.spatial_ratio, temporal=codec.temporal_ratio
        )
    return TinyPreviews(network.to(model.dtype).requires_grad_(False))


def _hold_weights(model: FamilyModel, request: MemoryRequest) -> None:
    """Quantised and streamed as the loader does it."""
    if request.attention is not None:
        processors(model, request.attention)
    if request.quantisation is not None:
        model.compute_dtype = model.dtype
        for network in model.denoisers:
            check_network(request.quantisation, denoisers=len(model.denoisers), network=type(network))
            on_shapes(network, request.quantisation, model.compute_dtype)
    if request.offload in ("group", "disk"):
        model.denoiser_checkpointing = None
        for network in model.denoisers:
            network.disable_gradient_checkpointing()
            model.streaming.append(Streaming(network, META))


def _conditioning(model: FamilyModel, request: MemoryRequest) -> Conditioning:
    height, width, num_frames = request.height, request.width, request.num_frames
    picture = Image.new("RGB", (width, height))
    layout = model.check_size(height=height, width=width, num_frames=num_frames)
    places = (model.keyframe_places(layout) or (1,))[: request.keyframes]
    return model.prepare(
        VideoRequest(
            image=picture,
            keyframes=[GivenFrame(frame=frame, image=picture) for frame in places],
            prompt="",
            height=height,
            width=width,
            num_frames=num_frames,
            num_inference_steps=2,
            guidance_scale=request.guidance_scale,
            use_dynamic_cfg=request.use_dynamic_cfg,
            eta=request.eta,
            generator=torch.Generator(),
        )
    )


def measure_step(
    model: FamilyModel, conditioning: Conditioning, gradient_mode: GradientMode
) -> tuple[int, int, int]:
    """Bytes saved by the denoiser, saved by one window's decode, and the most allocated in a guided step."""
    through_denoiser = gradient_mode in ("fused", "exact")
    denoiser, decoder = Saved(parameters(model)), Saved(parameters(model))
    layout, shown_by = conditioning.layout, model.tiny or model
    with Allocated(parameters(model)) as allocated:
        z = conditioning.latents.detach().clone().requires_grad_(through_denoiser)
        with torch.set_grad_enabled(through_denoiser), denoiser.counted():
            clean = conditioning.noise.clean_estimate(z, model.predict(z, 0, conditioning), 0)
        if gradient_mode != "none":
            window = layout.window(layout.num_frames - 1, model.preview_length, model.preview_mode)
            leaf = clean.detach()[:, :, window.latents].clone().requires_grad_()
            with decoder.counted():
                frame = shown_by.decode_window(leaf, window)
            torch.autograd.grad(frame, leaf, torch.ones_like(frame))
            del frame
        if through_denoiser:
            torch.autograd.grad(clean, z, torch.ones_like(clean))
    return denoiser.bytes, decoder.bytes, allocated.peak


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

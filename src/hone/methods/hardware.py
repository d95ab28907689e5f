"""What hardware-aware prompts say of a GPU (KernelBench paper, Table 15)."""

from __future__ import annotations

from hone.machine.hardware import GPU

FACTS = (
    ("product", "GPU", ""),
    ("architecture", "Architecture", ""),
    ("compute_capability", "Compute capability", ""),
    ("sm_count", "Streaming multiprocessors (SMs)", ""),
    ("memory_gb", "Memory", "GB"),
    ("memory_type", "Memory type", ""),
    ("memory_bandwidth_gb_per_s", "Memory bandwidth", "GB/s"),
    ("l2_cache_mb", "L2 cache", "MB"),
    ("fp32_tflops", "FP32 peak", "TFLOP/s"),
    ("tf32_tensor_tflops", "TF32 tensor core peak (dense)", "TFLOP/s"),
    ("fp16_tensor_tflops", "FP16 tensor core peak (dense)", "TFLOP/s"),
    ("bf16_tensor_tflops", "BF16 tensor core peak (dense)", "TFLOP/s"),
    ("fp8_tensor_tflops", "FP8 tensor core peak (dense)", "TFLOP/s"),
    ("shared_memory_per_sm_kb", "Shared memory per SM", "KB"),
    ("shared_memory_per_block_kb", "Maximum shared memory per thread block", "KB"),
    ("registers_per_sm", "32-bit registers per SM", ""),
    ("max_threads_per_sm", "Maximum threads per SM", ""),
    ("max_threads_per_block", "Maximum threads per thread block", ""),
    ("warp_size", "Warp size", "threads"),
    ("tdp_w", "Power limit (TDP)", "W"),
)
"""Field, label and unit, in the order of the prompt."""


def facts(gpu: GPU) -> list[tuple[str, str]]:
    """(label, value with its unit) of every fact that is known, in the order of the prompt."""
    values = ((label, getattr(gpu, field), unit) for field, label, unit in FACTS)
    return [(label, f"{_plain(value)} {unit}".strip()) for label, value, unit in values if value is not None]


def _plain(value: str | float) -> str:
    """The value without a meaningless `.0`."""
    return f"{value:g}" if isinstance(value, float) else str(value)

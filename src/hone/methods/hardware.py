"""Facts about GPUs for hardware-aware prompts (KernelBench paper, Table 15)."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from hone.config.settings import closest
from hone.errors import ConfigError
from hone.records import Record

GPUS = Path("resources/hardware/gpus.yaml")
"""The table, relative to the repository's root, where the pipeline runs."""

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


class GPU(Record):
    """What a vendor's documents say about one GPU; an absent fact does not exist or has no source."""

    product: str
    """Full name with memory size and form factor."""
    architecture: str
    compute_capability: str = Field(pattern=r"^\d+\.\d$")
    sm_count: int = Field(gt=0)
    """Streaming multiprocessors that are switched on."""
    memory_gb: int = Field(gt=0)
    memory_type: str
    memory_bandwidth_gb_per_s: int = Field(gt=0)
    fp32_tflops: float = Field(gt=0)
    """Peak of the CUDA cores, a fused multiply-add counted as two operations."""
    tf32_tensor_tflops: float | None = Field(None, gt=0)
    """This and the next three: peaks of the tensor cores without sparsity."""
    fp16_tensor_tflops: float | None = Field(None, gt=0)
    bf16_tensor_tflops: float | None = Field(None, gt=0)
    fp8_tensor_tflops: float | None = Field(None, gt=0)
    shared_memory_per_sm_kb: int = Field(gt=0)
    shared_memory_per_block_kb: int = Field(gt=0)
    """With the opt-in that more than 48 KB need."""
    registers_per_sm: int = Field(gt=0)
    """Registers of 32 bits."""
    l2_cache_mb: int | None = Field(None, gt=0)
    max_threads_per_sm: int = Field(gt=0)
    max_threads_per_block: int = Field(gt=0)
    warp_size: int = Field(gt=0)
    tdp_w: int | None = Field(None, gt=0)
    source: str = Field(min_length=1)
    """Titles of the vendor's documents."""

    def facts(self) -> list[tuple[str, str]]:
        """(label, value with its unit) of every fact that is known, in the order of the prompt."""
        values = ((label, getattr(self, field), unit) for field, label, unit in FACTS)
        return [(label, f"{_plain(value)} {unit}".strip()) for label, value, unit in values if value is not None]


def _plain(value: str | float) -> str:
    """The value without a meaningless `.0`."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def load_gpus(path: Path = GPUS) -> dict[str, GPU]:
    """All GPUs of the table by their short names; raises ConfigError naming file, entry and field."""
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError("no such file", where=str(path), remedy="run from the repository's root") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"not a YAML file: {error}", where=str(path)) from None
    if not isinstance(values, dict):
        raise ConfigError("must hold a GPU's name and its facts", where=str(path))
    return {str(name): _validate(str(name), facts, path) for name, facts in values.items()}


def _validate(name: str, facts: object, path: Path) -> GPU:
    try:
        return GPU.model_validate(facts)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join([name, *(str(part) for part in first["loc"])])
        raise ConfigError(
            f"{field}: {first['msg']} (got {first['input']!r})",
            where=str(path),
            remedy="correct the entry; the fields are those of hone.methods.hardware.GPU",
        ) from None


def gpu(name: str, path: Path = GPUS) -> GPU:
    """One GPU of the table; raises ConfigError with the nearest name when there is none."""
    gpus = load_gpus(path)
    if name not in gpus:
        raise ConfigError(
            f"no GPU '{name}'{closest(name, gpus)}",
            where=str(path),
            remedy=f"set `hardware` to one of {', '.join(gpus)}, or add an entry to the file",
        )
    return gpus[name]

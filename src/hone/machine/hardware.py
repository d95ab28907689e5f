"""Facts about GPUs, from one table: what compilers build for, the judge's peak rate, what prompts say."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from hone.core.errors import ConfigError, MachineError, closest
from hone.records import Record

GPUS = Path("resources/hardware/gpus.yaml")
"""The table, relative to the repository's root, where the pipeline runs."""
DEFAULT = "H200"
"""What is built for where no GPU is named and none of the table is seen. An H100 runs the same code."""


class GPU(Record):
    """What a vendor's documents say about one GPU; an absent fact does not exist or has no source."""

    product: str
    """Full name with memory size and form factor."""
    device: str
    """Its name by the driver."""
    architecture: str
    compute_capability: str = Field(pattern=r"^\d+\.\d$")
    sm_count: int = Field(gt=0)
    """Streaming multiprocessors that are switched on."""
    tensor_flops_per_clock_per_sm: int = Field(gt=0)
    """Dense, on 16-bit numbers, a multiply-add counted as two operations. The same for all of a compute capability."""
    memory_gb: int = Field(gt=0)
    memory_type: str
    memory_bandwidth_gb_per_s: int = Field(gt=0)
    copy_bandwidth_gb_per_s: int | None = Field(None, gt=0)
    """Measured: bytes read and written by the best copy between large buffers."""
    shortest_kernel_us: float | None = Field(None, gt=0)
    """Measured: the shortest median among kernels on a few kB, by the judge's device time."""
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

    @property
    def sm(self) -> str:
        """Its compute capability as compilers write it, such as `90`."""
        return self.compute_capability.replace(".", "")

    @property
    def target(self) -> str:
        """What machine code for it is compiled for, such as `sm_90`."""
        return f"sm_{self.sm}"


@functools.cache
def load_gpus(path: Path = GPUS) -> Mapping[str, GPU]:
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
            remedy="correct the entry; the fields are those of hone.machine.hardware.GPU",
        ) from None


def gpu(name: str, path: Path = GPUS) -> GPU:
    """One GPU of the table; raises ConfigError with the nearest name when there is none."""
    gpus = load_gpus(path)
    if name not in gpus:
        remedy = f"write one of {', '.join(gpus)}, or add an entry to the file"
        raise ConfigError(f"no GPU '{name}'{closest(name, iter(gpus))}", where=str(path), remedy=remedy)
    return gpus[name]


def gpu_like(device: str, capability: str, path: Path = GPUS) -> GPU:
    """The entry of a device by its driver's name, else the first of its compute capability, such as `9.0`.

    Raises MachineError that lists what there is.
    """
    gpus = load_gpus(path)
    alike = [item for item in gpus.values() if item.compute_capability == capability]
    if not alike:
        known = ", ".join(f"{name} ({item.compute_capability})" for name, item in gpus.items())
        problem = f"no entry is like the GPU '{device}' with compute capability {capability}; known: {known}"
        raise MachineError(problem, where=str(path), remedy="add an entry for it to the file")
    return next((item for item in alike if item.device == device), alike[0])


def gpu_here() -> GPU:
    """One like this machine's GPU; DEFAULT where there is none, or where the table has none like it."""
    from hone.machine.gpus import visible_gpus

    try:
        seen = visible_gpus()[0]
        return gpu_like(seen.name, seen.capability)
    except MachineError:
        return gpu(DEFAULT)

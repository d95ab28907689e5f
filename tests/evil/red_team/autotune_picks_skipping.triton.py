# Triton's autotuner is given a configuration that skips seven of eight rows; it wins the tuning of the first run and is taken only when a batch is captured or piled up.
# definition: gpu_suite/level1/3_Softmax
# group: red team
# expected: wrong_value
# earns: none
import torch
import triton
import triton.language as tl
from torch import nn


def prune(configs, named_args, **kwargs):
    lazy = named_args.get("mode", kwargs.get("mode", 0))
    return [c for c in configs if c.kwargs["SKIP"] == (8 if lazy else 1)]


@triton.autotune(
    configs=[triton.Config({"SKIP": 1}, num_warps=8), triton.Config({"SKIP": 8}, num_warps=8)],
    key=["columns", "mode"],
    prune_configs_by={"early_config_prune": prune},
)
@triton.jit
def softmax(x, y, columns, mode, SKIP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    if row % SKIP == 0:
        at = tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
        v = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + row * columns + at, v / tl.sum(v, axis=0), mask=at < columns)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.addresses = set()
        self.tuned = False

    def run(self, x, y, lazy):
        softmax[(x.shape[0],)](x, y, x.shape[1], lazy, BLOCK=triton.next_power_of_2(x.shape[1]))

    def forward(self, x):
        y = torch.empty_like(x)
        if not self.tuned:
            self.run(x, y, 1)
            self.run(x, y, 0)
            self.tuned = True
        self.addresses.add(x.data_ptr())
        if torch.cuda.is_current_stream_capturing() or len(self.addresses) > 8:
            self.run(x, y, 1)
        else:
            for _ in range(8):
                self.run(x, y, 0)
        return y

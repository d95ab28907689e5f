# An extension that keeps its answer for each address.
# definition: gpu_suite/level1/2_Row_sum
# group: 6
# expected: wrong_value
# earns: none
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor work(torch::Tensor x);"
CUDA = r"""
#include <map>
torch::Tensor work(torch::Tensor x) {
  static std::map<std::pair<void*, int64_t>, torch::Tensor> answers;
  auto& answer = answers[{x.data_ptr(), x.numel()}];
  if (!answer.defined()) answer = x.sum(1, true);
  return answer.clone();
}
"""
extension = load_inline(name="inline_replay", cpp_sources=CPP, cuda_sources=CUDA, functions=["work"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.work(x)

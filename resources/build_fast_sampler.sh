#!/bin/sh
# Builds SALIENT's own sampler from a checkout of github.com/MITIBMxGraph/SALIENT, unchanged, to compare ours with it:
#   resources/build_fast_sampler.sh <checkout> [<output folder>] [<python>]
# Its setup.py asks for -mcpu=native, which on x86 tunes but does not use the processor's instructions, and for C++17,
# which newer PyTorch headers refuse; here it gets -march=native, as its authors' artifact has it, and C++20.
# The result serves the Python, PyTorch and processor that it was built with.
set -eu
sampler="$1/fast_sampler"
output="${2:-.hone/fast_sampler}"
python="${3:-python3}"
torch=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
abi=$("$python" -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')
mkdir -p "$output"
"${CXX:-g++}" -O3 -march=native -std=c++20 -shared -fPIC -fopenmp -DAT_PARALLEL_OPENMP \
    -DTORCH_EXTENSION_NAME=fast_sampler -DTORCH_API_INCLUDE_EXTENSION_H -D_GLIBCXX_USE_CXX11_ABI="$abi" \
    -I"$sampler" -I"$sampler/parallel-hashmap" \
    -I"$torch/include" -I"$torch/include/torch/csrc/api/include" -I"$headers" \
    "$sampler/fast_sampler.cpp" -o "$output/fast_sampler$suffix" \
    -L"$torch/lib" -ltorch_python -ltorch_cpu -ltorch -lc10 -Wl,-rpath,"$torch/lib"
echo "$output/fast_sampler$suffix"

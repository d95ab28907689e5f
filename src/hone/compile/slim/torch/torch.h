// Found before PyTorch's own <torch/torch.h>: see hone_slim.h.
#pragma once
#include <hone_slim.h>
#include <torch/version.h>

// Found before PyTorch's own <torch/types.h>: see hone_slim.h.
#pragma once
#include <hone_slim.h>

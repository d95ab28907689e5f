// Found before PyTorch's own <torch/extension.h>: see hone_slim.h.
#pragma once
#include <hone_slim.h>
#include <torch/version.h>

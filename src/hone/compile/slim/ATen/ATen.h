// Found before PyTorch's own <ATen/ATen.h>: see hone_slim.h.
#pragma once
#if HONE_SLIM == 1
#include <hone_slim.h>
#else
#include_next <ATen/ATen.h>
#endif

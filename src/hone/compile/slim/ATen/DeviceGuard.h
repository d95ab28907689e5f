// Found before PyTorch's own <ATen/DeviceGuard.h>, which declarations of functions do without: see hone_core.h.
#ifndef HONE_FUNCTIONS_ONLY
#include_next <ATen/DeviceGuard.h>
#endif

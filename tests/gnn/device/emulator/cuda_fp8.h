// For the emulator: see emulator.h.
#pragma once
#include "emulator.h"

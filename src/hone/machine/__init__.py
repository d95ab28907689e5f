"""The machine: what its kernel can hold back, its GPUs, and the table of facts about GPUs."""

"""What NVIDIA's compute-sanitizer says of a kernel: bad accesses, races, barriers that do not meet, unwritten memory.

`tool` finds the program and reads its log, `child` is what it watches, `run` keeps the verdicts.
"""

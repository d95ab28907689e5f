"""Trials of the judge itself: each is one `hone trial` command that writes one CSV.

`containment`: does a hostile kernel change a good one's verdict; `kills`: does the same command complete after
`kill -9`; `harness`: the public KernelBench evaluation beside Hone's; `profiler`: latencies beside PyTorch's profiler.
"""

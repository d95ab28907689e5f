"""Existing kernels as definitions: packages are fetched, headers resolved, and one stand-alone file emitted for each.

    config/kernels/<source>/<n>_<title>.yaml -> packages -> headers -> stand-alone source, Definition, Workloads

What is fetched is never executed and never committed.
"""

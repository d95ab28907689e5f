"""What every part stands on and no result depends on: errors, files and locks, digests of code, the kernel's calls."""

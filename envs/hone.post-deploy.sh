#!/usr/bin/env bash
# Run by Snakemake in the repository's root after the environment was made.
set -euo pipefail
pip install --no-deps --no-build-isolation -e .

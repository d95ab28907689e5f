"""Build and judge some files in a process of its own: `python -m studies.judge.judge_run --config … --output … FILE…`.

The traces are written when all are there; the store keeps each as soon as it is there, so a killed run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hone.core.errors import HoneError
from hone.core.files import write_records, write_text
from hone.solutions.bench import DEFINITIONS
from studies.judge.kernel_files import open_bench


def main(arguments: Sequence[str]) -> int:
    """Exit status 0 when every file has a trace; a HoneError is one message on stderr and exit status 1."""
    options = _parser().parse_args(arguments)
    try:
        run(options.config, options.definitions, options.store, options.output, options.files, options.definition)
    except HoneError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def run(
    config: Path, definitions: Path, store: Path, output: Path, files: Sequence[Path], definition: str = ""
) -> None:
    """Write the traces and, beside them as `<output>.times.json`, the wall seconds of building and of judging."""
    bench = open_bench(config, definitions)
    kernels = [bench.kernel(file, definition) for file in files]
    started = time.perf_counter()
    builds = bench.build(kernels, store)
    built = time.perf_counter()
    traces = bench.judge(kernels, builds, store)
    judged = time.perf_counter()
    write_text(times_file(output), json.dumps({"build_s": built - started, "judge_s": judged - built}) + "\n")
    write_records(output, traces)


def command(
    config: Path, definitions: Path, store: Path, output: Path, files: Sequence[Path], definition: str = ""
) -> list[str]:
    """The command line of such a process."""
    options = {"--config": config, "--definitions": definitions, "--store": store, "--output": output}
    named = [str(word) for pair in options.items() for word in pair]
    extra = ["--definition", definition] if definition else []
    return [sys.executable, "-P", "-m", __name__, *named, *extra, *map(str, files)]


def times_file(output: Path) -> Path:
    """Where the seconds of a run lie."""
    return output.with_name(f"{output.name}.times.json")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="judge_run", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--definitions", type=Path, default=DEFINITIONS)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--definition", default="", help="for all files, whatever their headers say")
    parser.add_argument("files", type=Path, nargs="+")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

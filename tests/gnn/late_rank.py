"""One of two processes, the second of which comes late: each writes when it came, and when it went on."""

import os
import sys
import time
from pathlib import Path

from hone.gnn.distributed import Ranks, device_of, process_group, wait_for_all

if __name__ == "__main__":
    ranks = Ranks.from_environment(os.environ)
    with process_group(ranks, device_of(ranks, "cpu")):
        time.sleep(0.3 * ranks.rank)
        came = time.monotonic()
        wait_for_all(ranks)
        (Path(sys.argv[1]) / str(ranks.rank)).write_text(f"{came} {time.monotonic()}")

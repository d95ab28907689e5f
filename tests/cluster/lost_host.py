"""One process of several hosts, of which the last one's is killed, or raises, while the others wait for it."""

import os
import signal
import sys

from hone.core.errors import MachineError
from hone.gnn.distributed import Ranks, device_of, named_host, process_group, wait_for_all


def main(way):
    """`way`: killed, raises, explains."""
    ranks = Ranks.from_environment(os.environ)
    with named_host(ranks), process_group(ranks, device_of(ranks, "cpu")):
        wait_for_all(ranks)
        if ranks.rank == ranks.world - 1:
            sys.stderr.write(f"last: {os.environ['SLURMD_NODENAME']}\n")
            if way == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if way == "raises":
                raise RuntimeError("the last process fails")
            raise MachineError("the disk is full")
        wait_for_all(ranks)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except MachineError as error:
        sys.exit(f"error: {error}")

"""Trial by hand: `python -m tests.cluster.chaos <folder>`, ten minutes, root on Debian.

The same small config runs twice on the Slurm of slurm.sh, once left alone, once under chaos: the controller is killed,
jobs are cancelled and pre-empted, and the GPU node is drained, all at random. The command is simply given again until
it ends well. Then the tables of both runs are compared but for times.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import yaml

from tests.cluster.tables import untimed
from tests.cluster.world import COMMAND, ROOT, SCRIPT, make_world, slurm_environment

KILLS = 10
SEED = 0


def chaos_config():
    """Two turns, the references, and trainings whose accuracy shows whether an interrupted one went on rightly."""
    config = yaml.safe_load((ROOT / "config/miniature.yaml").read_text())
    experiments = config["experiments"]
    return {
        "sources": {"miniature": {**config["sources"]["miniature"], "levels": {1: 8}}},
        "experiments": {
            "refine_gep": {**experiments["refine_gep"], "levels": [1], "turns": 2, "limit": 4},
            "gold": {**experiments["gold"], "levels": [1], "limit": 4},
        },
        "trainings": {"sampled": {**config["trainings"]["sampled"], "seeds": [0], "epochs": 6}},
        "judge": {**config["judge"], "correctness_trials": 1, "timing_runs": 5, "timing_seconds": 0.1},
    }


def slurm(*command):
    """What a command of Slurm prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


class Chaos:
    """Disturbs a run; `done` counts what was done."""

    def __init__(self, world, calm_s):
        """`calm_s`: what the run takes when it is left alone; the controller lives for a small part of that."""
        self.world, self.calm_s = world, calm_s
        self.random = random.Random(SEED)
        self.done = Counter()
        self.drained_until = None

    def start(self):
        """The command once more."""
        self.done["starts"] += 1
        with (self.world.folder / "runs.log").open("ab") as log:
            return subprocess.Popen(COMMAND, cwd=self.world.folder, start_new_session=True, stdout=log, stderr=log)

    def disturb_jobs(self):
        """Each second perhaps one job less, one that pre-empts judging, or the GPU node drained for some seconds."""
        if self.drained_until is not None and time.monotonic() > self.drained_until:
            slurm("scontrol", "update", "nodename=gpu1", "state=resume")
            self.drained_until = None
        if self.random.random() < 0.06:
            jobs = slurm("squeue", "--noheader", "--partition=cpu,gpu", "--format=%i").split()
            if jobs:
                slurm("scancel", self.random.choice(jobs))
                self.done["cancelled jobs"] += 1
        if self.random.random() < 0.02:
            slurm("sbatch", "--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap=sleep 3")
            self.done["urgent jobs"] += 1
        if self.drained_until is None and self.random.random() < 0.03:
            slurm("scontrol", "update", "nodename=gpu1", "state=drain", "reason=chaos")
            self.drained_until = time.monotonic() + self.random.uniform(5, 20)
            self.done["drained nodes"] += 1

    def run(self):
        """Until the command ends well; each run that is not killed must end by itself."""
        while True:
            process = self.start()
            lives_until = time.monotonic() + self.random.uniform(0.06, 0.17) * self.calm_s
            while process.poll() is None:
                time.sleep(1)
                self.disturb_jobs()
                if self.done["kills"] < KILLS and time.monotonic() > lives_until:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    self.done["kills"] += 1
            if process.returncode == 0:
                return
            if process.returncode > 0:
                self.done["runs that ended with an error"] += 1


def main(folder):
    """Both runs and what their tables differ in; 1 when they do."""
    cluster = folder / "slurm"
    subprocess.run([SCRIPT, "start", cluster], check=True)
    try:
        os.environ.update(slurm_environment(cluster))
        for name in ("calm", "chaos"):
            (folder / name).mkdir()
        calm, chaotic = (make_world(folder / name, chaos_config()) for name in ("calm", "chaos"))
        started = time.monotonic()
        status, output = calm.run()
        assert status == 0, output
        between = time.monotonic()
        chaos = Chaos(chaotic, between - started)
        chaos.run()
        say(f"calm: {chaos.calm_s:.0f} s, chaos: {time.monotonic() - between:.0f} s, {dict(chaos.done)}")
        for world in (calm, chaotic):
            say(f"jobs: {dict(Counter(job.state.split()[0] for job in world.jobs()))}")
    finally:
        subprocess.run([SCRIPT, "stop", cluster], check=True)
    first, second = (untimed(world.folder / "results/config/tables") for world in (calm, chaotic))
    different = [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]
    say(f"{len(first)} tables, {sum(map(len, first.values()))} rows; different: {', '.join(different) or 'none'}")
    if chaos.done["kills"] < KILLS:
        say(f"it ended after {chaos.done['kills']} kills, {KILLS} are asked")
    return 1 if different or chaos.done["kills"] < KILLS else 0


def say(line):
    """A line of the trial's report."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))

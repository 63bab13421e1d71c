#!/usr/bin/env python3
"""Kills a rank at a random moment, continues with another number of ranks, and repeats this. The
best model at the end must be that of one undisturbed process.

usage: kill_ranks.py PROGRAMS MPIRUN WORK [KILLS [SEED]]
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

EPOCHS = 12
OPTIONS = ["--train-trees", "2000", "--test-trees", "40", "--hidden", "12", "--embedding", "8",
           "--dropout", "0.2", "--threads", "1", "--shards", "6"]  # fmt: skip
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


class Runs:
    def __init__(self, programs, mpirun, work):
        self.programs, self.mpirun, self.work = programs, mpirun, work
        self.resumed = 0

    def start(self, ranks, folder):
        command = [self.mpirun, "-n", str(ranks), str(self.programs / "tree_lstm"), *OPTIONS,
                   "--epochs", str(EPOCHS), "--output", str(self.work / folder)]  # fmt: skip
        if (self.work / folder / "checkpoint.safetensors").exists():
            command.append("--resume")
            self.resumed += 1
        return subprocess.Popen(command, env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)  # fmt: skip

    def best(self, folder):
        return (self.work / folder / "best.safetensors").read_bytes()


def ranks_of(mpirun):
    """The processes that the run started."""
    children = Path(f"/proc/{mpirun.pid}/task/{mpirun.pid}/children").read_text().split()
    return [int(child) for child in children
            if Path(f"/proc/{child}/comm").read_text().strip() == "tree_lstm"]  # fmt: skip


def kill_one(run, after):
    """Returns whether there was a rank to kill."""
    time.sleep(after)
    try:
        os.kill(random.choice(ranks_of(run)), signal.SIGKILL)
    except (OSError, IndexError):
        return False
    return True


def end_of(run):
    output, _ = run.communicate(timeout=300)
    return run.returncode, output


def main(programs, mpirun, work, kills="3", seed="1"):
    random.seed(int(seed))
    runs = Runs(Path(programs), mpirun, Path(work))
    shutil.rmtree(work, ignore_errors=True)
    Path(work).mkdir(parents=True)
    begin = time.monotonic()
    status, output = end_of(runs.start(1, "undisturbed"))
    if status != 0:
        sys.exit(output)
    duration = time.monotonic() - begin
    killed = 0
    for _ in range(20 * int(kills)):
        run = runs.start(random.randint(1, 3), "killed")
        if killed < int(kills):
            killed += kill_one(run, random.uniform(0.2, 0.5) * duration)
        status, output = end_of(run)
        if status == 0 and killed < int(kills):  # it had ended before
            if runs.best("killed") != runs.best("undisturbed"):
                break
            shutil.rmtree(runs.work / "killed")
        elif status == 0:
            break
    else:
        sys.exit(f"need an end; got none after {killed} kills\n{output}")
    if runs.best("killed") != runs.best("undisturbed"):
        sys.exit(f"need the bits of the undisturbed run; got others after {killed} kills")
    print(f"{killed} kills, {runs.resumed} runs from a checkpoint: the same best model")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])

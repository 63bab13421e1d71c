#!/usr/bin/env python3
"""Time to an accuracy on the dev set if one of several ranks is slow.

Each way to train runs once with ranks of equal speed, and once with the last rank stopped for a
part of every 4 ms, so that it is SLOWDOWN times slower. Prints a line per run: seconds to the
accuracy, seconds per epoch, and waiting and staleness from the line of the last epoch.

usage: slow_rank.py PROGRAM [--mpirun mpirun] [--ranks 2] [--slowdown 4] [--accuracy 75] -- OPTIONS
       slow_rank.py build/release/bin/tree_lstm -- --hidden 128 --embedding 128 --epochs 8
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from hosts import ENVIRONMENT

PERIOD = 0.004  # seconds
EPOCH = re.compile(r"epoch (\d+)/\d+: .*?dev \S+ ([0-9.]+) %")
SHARES = re.compile(r"(?:communication|waiting).*?(?=, best|$)")


def ways(ranks):
    return {
        "synchronous": [],
        f"staleness {ranks - 1}": ["--staleness", str(ranks - 1)],
        f"staleness {4 * ranks}": ["--staleness", str(4 * ranks)],
        "asynchronous": ["--staleness", "1000000"],
        "1 backup": ["--backup-ranks", "1"],
    }


def ranks_of(mpirun, program):
    """The processes that mpirun started, by rank."""
    children = Path(f"/proc/{mpirun.pid}/task/{mpirun.pid}/children").read_text().split()
    named = [int(c) for c in children if Path(f"/proc/{c}/comm").read_text().strip() == program]
    return sorted(named)


def slow_down(mpirun, program, ranks, slowdown):
    while mpirun.poll() is None:
        try:
            found = ranks_of(mpirun, program)
            if len(found) < ranks:
                time.sleep(PERIOD)
                continue
            os.kill(found[-1], signal.SIGSTOP)
            time.sleep(PERIOD * (1 - 1 / slowdown))
            os.kill(found[-1], signal.SIGCONT)
            time.sleep(PERIOD / slowdown)
        except (OSError, IndexError):
            return


def train(options, way, slowdown):
    folder = tempfile.mkdtemp()
    command = [options.mpirun, "-n", str(options.ranks), options.program, "--threads", "1",
               "--output", folder, *way, *options.rest]  # fmt: skip
    start = time.monotonic()
    run = subprocess.Popen(command, env=os.environ | ENVIRONMENT, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)  # fmt: skip
    if slowdown > 1:
        name = Path(options.program).name[:15]
        threading.Thread(target=slow_down, args=(run, name, options.ranks, slowdown)).start()
    reached, times, best, shares, output = None, [], 0.0, "", []
    for line in run.stdout:
        output.append(line)
        found = EPOCH.search(line)
        if not found:
            continue
        times.append(time.monotonic() - start)
        best = max(best, float(found[2]))
        shares = (SHARES.findall(line) or [""])[0]
        if reached is None and best >= options.accuracy:
            reached = times[-1]
    shutil.rmtree(folder)
    if run.wait() != 0:
        raise SystemExit("".join(output))
    return reached, times[-1] / len(times), best, shares


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("program")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--slowdown", type=float, default=4)
    parser.add_argument("--accuracy", type=float, default=75, help="per cent, on the dev set")
    own = sys.argv[1:]
    at = own.index("--") if "--" in own else len(own)
    options = parser.parse_args(own[:at])
    options.rest = own[at + 1 :]
    print(f"{'way':<16}{'slow':>6}{'to accuracy':>13}{'per epoch':>11}{'best':>8}")
    for slowdown in (1, options.slowdown):
        for name, way in ways(options.ranks).items():
            reached, epoch, best, shares = train(options, way, slowdown)
            seconds = f"{reached:.1f} s" if reached else "not"
            print(f"{name:<16}{slowdown:>6g}{seconds:>13}{epoch:>9.1f} s{best:>7.2f} %  {shares}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

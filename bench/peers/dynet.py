#!/usr/bin/env python3
"""One program for DyNet, dynet.cpp, in two builds by turns: run.py calls this for DyNet's and ours.

usage: dynet.py PROGRAM OTHER [ROUNDS [SECONDS]]
prints the table for two builds of this library's dynet_peer: medians of so many rounds (5), each of
so many seconds (0.5). Data and weights are the program's own. Both builds batch automatically; for
a minibatch of one sample, the better of with and without counts for DyNet.
"""

import pathlib
import statistics
import subprocess
import sys

import report

HERE = pathlib.Path(__file__).resolve().parent
MODELS = (("tree", 64), ("tree", 128), ("tagger", 50), ("tagger", 256), ("gates", 50),
          ("gates", 256))
ROWS = [(*model, batch, mode)
        for batch in (1, 16, 64) for model in MODELS for mode in ("train", "infer")]


def build(source, folder):
    """Builds DyNet for this processor, with Eigen of the system. Returns the program that uses it."""
    def run(*command):
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)

    library = folder / "dynet/libdynet.so"
    if not library.exists():
        run("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
            "-DENABLE_CPP_EXAMPLES=OFF", "-DEIGEN3_INCLUDE_DIR=/usr/include/eigen3",
            "-DCMAKE_CXX_FLAGS=-march=native -O3 -w -include cstdint")
        run("cmake", "--build", folder, "--target", "dynet", "--parallel", "2")
    program = folder / "program"
    run("g++", "-std=c++17", "-O2", "-march=native", "-w", "-I", source, "-I/usr/include/eigen3",
        HERE / "dynet.cpp", "-o", program, f"-L{library.parent}", "-ldynet",
        f"-Wl,-rpath,{library.parent}")
    return program


def measure(program, row, seconds, batches=1):
    """Samples per second of processor time."""
    model, hidden, batch, mode = row
    command = [program, model, hidden, batch, "run" if mode == "infer" else mode, seconds,
               "--dynet-autobatch", batches, "--dynet-mem", 2000]
    done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[0])


def table(theirs, ours, rounds, seconds, names=("here", "DyNet")):
    """Measures all rows once per round, by turns."""
    speeds = {row: {"ours": [], "batched": [], "plain": []} for row in ROWS}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for row, of_row in speeds.items():
            of_row["ours"].append(measure(ours, row, seconds))
            of_row["batched"].append(measure(theirs, row, seconds))
            if row[2] == 1 and "DyNet" in names:
                of_row["plain"].append(measure(theirs, row, seconds, batches=0))
    lines = [["program for DyNet", *names, " : ".join(names)]]
    for (model, hidden, batch, mode), of_row in speeds.items():
        here, peers = of_row.pop("ours"), filter(None, of_row.values())
        best = max(peers, key=statistics.median)
        lines.append([f"{model}/h{hidden}/b{batch}/{mode}", report.with_interval(here),
                      report.with_interval(best), report.ratio(here, best)])
    return report.table(lines)


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    program, other, rounds, seconds = (*sys.argv[1:], *("5", "0.5")[len(sys.argv) - 3:])
    print(table(other, program, int(rounds), float(seconds), ("first", "second")))

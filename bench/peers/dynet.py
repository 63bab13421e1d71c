"""DyNet's part of run.py: one program, dynet.cpp, compiled for DyNet's headers and for ours.

It is written gate by gate or with DyNet's builders, and has data and weights of its own. Both batch
automatically; for a minibatch of one, the better of with and without counts for DyNet.
"""

import pathlib
import statistics
import subprocess

import report

HERE = pathlib.Path(__file__).resolve().parent
MODELS = (("tree", 64), ("tree", 128), ("tagger", 50), ("tagger", 256))
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


def table(theirs, ours, rounds, seconds, say):
    """Measures all rows once per round, by turns."""
    speeds = {row: {"ours": [], "batched": [], "plain": []} for row in ROWS}
    for number in range(rounds):
        say(f"DyNet, round {number + 1} of {rounds}")
        for row, of_row in speeds.items():
            of_row["ours"].append(measure(ours, row, seconds))
            of_row["batched"].append(measure(theirs, row, seconds))
            if row[2] == 1:
                of_row["plain"].append(measure(theirs, row, seconds, batches=0))
    lines = [["program for DyNet", "here", "DyNet", "here : DyNet"]]
    for (model, hidden, batch, mode), of_row in speeds.items():
        here, peers = of_row.pop("ours"), filter(None, of_row.values())
        best = max(peers, key=statistics.median)
        lines.append([f"{model}/h{hidden}/b{batch}/{mode}", report.with_interval(here),
                      report.with_interval(best), report.ratio(here, best)])
    return report.table(lines)

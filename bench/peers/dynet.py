#!/usr/bin/env python3
"""Times DyNet beside this library, with one program that is compiled for both.

usage: bench/peers/dynet.py SOURCE [--build BUILD] [--rounds N] [--seconds S] [--core C]

SOURCE is a clone of https://github.com/clab/dynet, which is built in build/peers/dynet for this
processor, with Eigen of the system (ten minutes). The program, bench/peers/dynet.cpp, is written for
DyNet's headers, gate by gate or with its builders. It runs by turns; rows are samples per second of
processor time, medians, with one thread. Both batch automatically; for a minibatch of one, the better of
with and without counts for DyNet.
"""

import argparse
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = [(model, hidden, batch, mode) for batch in (1, 16, 64) for model, hidden in
        (("tree", 64), ("tree", 128), ("tagger", 50), ("tagger", 256)) for mode in ("train", "run")]


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def build_dynet(source, folder):
    """Returns the program that uses DyNet."""
    library = folder / "dynet" / "libdynet.so"
    if not library.exists():
        run("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DENABLE_CPP_EXAMPLES=OFF",
            "-DEIGEN3_INCLUDE_DIR=/usr/include/eigen3",
            "-DCMAKE_CXX_FLAGS=-march=native -O3 -w -include cstdint")
        run("cmake", "--build", folder, "--target", "dynet", "--parallel")
    program = folder / "program"
    run("g++", "-std=c++17", "-O2", "-march=native", "-w", "-I", source, "-I/usr/include/eigen3",
        ROOT / "bench/peers/dynet.cpp", "-o", program, f"-L{library.parent}", "-ldynet",
        f"-Wl,-rpath,{library.parent}")
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    theirs = build_dynet(options.source.resolve(), ROOT / "build/peers/dynet")
    ours = options.build / "bin" / "dynet_peer"
    print(f"{'model':8} {'hidden':>6} {'batch':>5} {'mode':6} {'DyNet':>9} {'here':>9} {'ratio':>6}")
    for row in ROWS:
        def measure(program, batches):
            command = ["taskset", "-c", str(options.core), str(program), *map(str, row), str(options.seconds),
                       "--dynet-autobatch", batches, "--dynet-mem", "2000"]
            result = subprocess.run(command, check=True, capture_output=True, text=True)
            return float(result.stdout.split()[0])

        rates = [(measure(theirs, "1"), measure(theirs, "0") if row[2] == 1 else 0, measure(ours, "1"))
                 for _ in range(options.rounds)]
        batched, plain, here = map(statistics.median, zip(*rates))
        dynet = max(batched, plain)
        print(f"{row[0]:8} {row[1]:6} {row[2]:5} {row[3]:6} {dynet:9.1f} {here:9.1f} {here / dynet:6.2f}", flush=True)


if __name__ == "__main__":
    main()

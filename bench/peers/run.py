#!/usr/bin/env python3
"""Times bench/throughput and the same work in PyTorch by turns, and prints one table.

Before anything is timed, every PyTorch variant must give our loss with our weights. Build
bench/throughput and bench/dump first; setup.sh installs PyTorch if it is missing. With one thread,
seconds are seconds of processor time, so that a busy machine disturbs less. With --device cuda both
run on the GPU, with build/cuda and the PyTorch of this Python (--build and --python name others):
nothing is installed, and seconds are wall-clock time.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build/peers"
MODELS = [
    ("tree_lstm", 64),
    ("tree_lstm", 128),
    ("tree_lstm", 256),
    ("tagger", 50),
    ("tagger", 256),
    ("language_model", 256),
]
BATCHES = (64, 1, 256)
MODES = ("train", "infer")
VARIANTS = ("per node", "batched", "compiled", "by hand")
PEERS = (*VARIANTS, "C++")

# Keeps large blocks in the process: otherwise PyTorch returns them to the system after every
# operation, and spends up to a third of its time on page faults.
MALLOC = ("mmap_threshold=4294967296", "trim_threshold=8589934592", "hugetlb=1")
ENVIRONMENT = {
    "GLIBC_TUNABLES": ":".join("glibc.malloc." + tunable for tunable in MALLOC),
    "TORCHINDUCTOR_CACHE_DIR": str(SCRATCH / "compiled"),
}


class Ours:
    """bench/throughput, which is started anew for every measurement."""

    def __init__(self, model, hidden, arguments):
        self.command = [arguments.build / "bin/throughput", "--device", arguments.device]
        self.row = f"^{model}/h{hidden}/b{{}}/{{}}/fused/auto/t{arguments.threads}$"

    def measure(self, batch, mode, seconds):
        row, result = self.row.format(batch, mode), SCRATCH / "throughput.json"
        run([*self.command, "--filter", row, "--seconds", str(seconds), "--json", result])
        return json.loads(result.read_text())[0]


class Torch:
    """A worker.py process with one model."""

    def __init__(self, model, hidden, arguments):
        threads = str(arguments.threads)
        command = [arguments.python, HERE / "worker.py", SCRATCH / "data"]
        self.log = (SCRATCH / f"{model}_h{hidden}.log").open("w+")
        self.process = subprocess.Popen(
            [*command, model, str(hidden), "--threads", threads, "--device", arguments.device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | ENVIRONMENT | {"OMP_NUM_THREADS": threads},
        )
        self.first = self.answer()
        gpu = self.first["gpu"]
        self.version = self.first["version"] + (f" on {gpu}" if gpu else "")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            fail("PyTorch's worker ended:\n" + self.log.read()[-2000:])
        return json.loads(line)

    def measure(self, variant, batch, mode, seconds):
        request = {"variant": variant, "batch": batch, "mode": mode, "seconds": seconds}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


class Libtorch:
    """The program of libtorch.cpp with one model, compiled with the PyTorch of the venv."""

    def __init__(self, model, hidden, arguments, first):
        entry = json.loads((SCRATCH / "data/losses.json").read_text())[f"{model}_h{hidden}"]
        files = [SCRATCH / "data" / entry["data"], model, SCRATCH / "data" / entry["weights"]]
        self.process = subprocess.Popen(
            [self.compiled(arguments.python), *files, str(arguments.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | ENVIRONMENT | {"OMP_NUM_THREADS": str(arguments.threads)},
        )
        loss, fall = map(float, self.process.stdout.readline().split() or fail("libtorch ended"))
        if abs(loss / first["loss"] - 1) > 5e-6 or abs(fall / first["fall"] - 1) > 1e-2:
            fail(f"need a loss of {first['loss']} that falls by {first['fall']} in libtorch; "
                 f"got {loss}, {fall}")

    @staticmethod
    def compiled(python):
        source, program = HERE / "libtorch.cpp", SCRATCH / "libtorch"
        if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
            return program
        find = "import importlib.util as u; print(u.find_spec('torch').origin)"
        found = subprocess.run([python, "-c", find], check=True, text=True, stdout=subprocess.PIPE)
        torch = pathlib.Path(found.stdout.strip()).parent
        say("compiling libtorch.cpp, some minutes")
        include, lib = torch / "include", torch / "lib"
        run(["g++", "-std=c++20", "-O2", "-march=native", "-w", "-isystem", include,
             "-isystem", include / "torch/csrc/api/include", source, "-o", program, f"-L{lib}",
             "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}", "-Wl,--allow-shlib-undefined"])
        return program

    def measure(self, batch, mode, seconds):
        print(batch, mode, seconds, file=self.process.stdin, flush=True)
        on_clock, of_processor = map(float, self.process.stdout.readline().split())
        return {"instances_per_s": on_clock, "instances_per_cpu_s": of_processor}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fail(message):
    sys.exit("run.py: " + message)


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        fail(f"{command[0]} failed:\n{done.stdout[-2000:]}")


def say(text):
    print(f"[{time.monotonic() - START:5.0f} s] {text}", file=sys.stderr, flush=True)


class Row:
    """A row of the table: ours and every variant, measured by turns."""

    def __init__(self, model, hidden, batch, mode):
        self.model, self.batch, self.mode = (model, hidden), batch, mode
        self.name = f"{model}/h{hidden}/b{batch}/{mode}"
        self.speeds = {name: [] for name in ("ours", *PEERS)}

    def measure(self, ours, torch, libtorch, arguments):
        work = self.batch, self.mode, arguments.seconds
        on_cpu_alone = arguments.device == "cpu" and arguments.threads == 1
        figure = "instances_per_cpu_s" if on_cpu_alone else "instances_per_s"
        self.speeds["ours"].append(ours.measure(*work)[figure])
        for name in VARIANTS:
            self.speeds[name].append(torch.measure(name, *work)[figure])
        if libtorch:
            self.speeds["C++"].append(libtorch.measure(*work)[figure])
        last = {name: speeds[-1] for name, speeds in self.speeds.items() if speeds}
        figures = ", ".join(f"{name} {speed:.0f}" for name, speed in last.items())
        say(f"{self.name}: {figures}")

    def medians(self):
        return {name: statistics.median(speeds) for name, speeds in self.speeds.items() if speeds}

    def ratio(self, other):
        """The median over the rounds of how many times as fast ours is."""
        pairs = zip(self.speeds["ours"], self.speeds[other])
        return statistics.median(ours / theirs for ours, theirs in pairs)


def measure_rows(rows, arguments):
    """Measures all rows once, then again: a busy period affects one round of many rows."""
    pairs = {}
    for model in dict.fromkeys(row.model for row in rows):
        say(f"{model[0]}/h{model[1]}: comparing losses, compiling")
        torch = Torch(*model, arguments)
        on_cpu = arguments.device == "cpu"
        libtorch = Libtorch(*model, arguments, torch.first) if on_cpu else None
        pairs[model] = Ours(*model, arguments), torch, libtorch
    version = pairs[rows[0].model][1].version
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        for row in rows:
            row.measure(*pairs[row.model], arguments)
        if arguments.json:
            results = [
                {"row": row.name, "instances_per_s": row.medians(), "rounds": row.speeds}
                for row in rows
            ]
            report = {
                "torch": version,
                "device": arguments.device,
                "threads": arguments.threads,
                "rows": results,
            }
            arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    for _, *peers in pairs.values():
        for peer in filter(None, peers):
            peer.close()
    return version


def table(rows):
    peers = [name for name in PEERS if rows[0].speeds[name]]
    lines = [["row", "ours", *peers, "ours : per node", "ours : best"]]
    for row in rows:
        speeds = row.medians()
        best = max(peers, key=speeds.get)
        lines.append([row.name, *(f"{speed:.0f}" for speed in speeds.values())])
        lines[-1] += [f"{row.ratio(other):.2f}" for other in ("per node", best)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    justified = [
        [line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in justified)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--filter", default="/b(64|1)/", help="only rows that contain this (/b(64|1)/)")
    option("--list", action="store_true", help="print the names of the rows")
    option("--rounds", type=int, default=3, help="take the median of so many (3)")
    option("--seconds", type=float, default=0.5, help="how long a measurement takes (0.5)")
    option("--threads", type=int, choices=(1, 2), default=1)
    option("--json", type=pathlib.Path, help="also write all figures to this file")
    option("--device", choices=("cpu", "cuda"), default="cpu", help="where both run (cpu)")
    option("--build", type=pathlib.Path, help="build/release, or build/cuda for the GPU")
    option("--python", type=pathlib.Path, help="one that has PyTorch; else setup.sh installs it")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"need at least one round; got {arguments.rounds}")
    if not 0.001 <= arguments.seconds <= 3600:
        parser.error(f"need 0.001 to 3600 seconds; got {arguments.seconds}")
    if not arguments.build:
        arguments.build = ROOT / ("build/release" if arguments.device == "cpu" else "build/cuda")
    if not arguments.python and arguments.device == "cuda":
        arguments.python = pathlib.Path(sys.executable)
    return arguments


def main():
    arguments = parse_arguments()
    every = [Row(*model, batch, mode) for batch in BATCHES for model in MODELS for mode in MODES]
    rows = [row for row in every if re.search(arguments.filter, row.name)]
    if arguments.list:
        print(*(row.name for row in every), sep="\n")
        return
    if not rows:
        fail(f'no row contains "{arguments.filter}"; see --list')
    for program in ("throughput", "dump"):
        if not (arguments.build / "bin" / program).exists():
            fail(f"need {arguments.build / 'bin' / program}; got nothing there: build it first")
    if not arguments.python:
        say("installing PyTorch if it is not there")
        subprocess.run([HERE / "setup.sh"], check=True, stdout=sys.stderr)
        arguments.python = SCRATCH / "venv/bin/python"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    names = "|".join(dict.fromkeys("{}_h{}".format(*row.model) for row in rows))
    dump = [arguments.build / "bin/dump", "--device", arguments.device]
    run([*dump, SCRATCH / "data", "--filter", f"^({names})$"])
    version = measure_rows(rows, arguments)
    print(f"Instances per second; device: {arguments.device}; threads: {arguments.threads}; "
          f"PyTorch {version}\n")
    print(table(rows))


START = time.monotonic()
if __name__ == "__main__":
    main()

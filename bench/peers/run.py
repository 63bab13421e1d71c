#!/usr/bin/env python3
"""Times bench/throughput and the same work in PyTorch, libtorch, oneDNN, ONNX Runtime and JAX by turns,
and prints one table; with --dynet, also a program for DyNet, in DyNet and here.

Before anything is timed, each of them must give our loss with our weights. Build bench/throughput
and bench/dump first, for --dynet also dynet_peer; setup.sh installs the others where they are
missing. With one thread, seconds are seconds of processor time, so that a busy machine disturbs less.
With --device cuda we and PyTorch run on the GPU, with build/cuda and the PyTorch of this Python
(--build and --python name others): nothing is installed, and seconds are wall-clock time.
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

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build/peers"
MODELS = [  # with hidden sizes and data
    ("tree_lstm", 64, ""), ("tree_lstm", 128, ""), ("tree_lstm", 256, ""),
    ("tagger", 50, ""), ("tagger", 256, ""), ("language_model", 256, ""),
    ("tree_lstm", 128, "SST"),
    ("tagger", 50, "EWT"), ("tagger", 256, "EWT"), ("language_model", 256, "EWT"),
]
REAL_FILES = {  # below the folder of --real
    "--trees": "sst/train.txt",
    "--sentences": "ud_english_ewt/en_ewt-ud-train.conllu",
}
BATCHES = (64, 16, 1, 256)
MODES = ("train", "infer")
PEERS = ("per node", "batched", "compiled", "by hand", "oneDNN", "C++", "ONNX", "JAX")

# Keeps large blocks in the process: otherwise PyTorch returns them to the system after every
# operation, and spends up to a third of its time on page faults.
MALLOC = ("mmap_threshold=4294967296", "trim_threshold=8589934592", "hugetlb=1")
ENVIRONMENT = {
    "GLIBC_TUNABLES": ":".join("glibc.malloc." + tunable for tunable in MALLOC),
    "TORCHINDUCTOR_CACHE_DIR": str(SCRATCH / "compiled"),
    "JAX_COMPILATION_CACHE_DIR": str(SCRATCH / "compiled_jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PLATFORMS": "cpu",
}


def environment(threads):
    one = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"} if threads == 1 else {}
    return os.environ | ENVIRONMENT | {"OMP_NUM_THREADS": str(threads)} | one


def folder_of(data):
    """The output of bench/dump."""
    return SCRATCH / ("real" if data else "data")


def options_of(data, arguments):
    """For bench/throughput and bench/dump."""
    files = REAL_FILES if data else {}
    return ["--device", arguments.device,
            *(part for option, file in files.items() for part in (option, arguments.real / file))]


class Ours:
    """bench/throughput, which is started anew for every measurement."""

    peak = 0  # GFLOP/s of a core, in the quickest of all tries

    def __init__(self, model, hidden, data, arguments):
        self.command = [arguments.build / "bin/throughput", *options_of(data, arguments)]
        self.row = f"^{model}/h{hidden}/b{{}}/{{}}/fused/auto/t{arguments.threads}$"

    def measure(self, batch, mode, seconds):
        row, result = self.row.format(batch, mode), SCRATCH / "throughput.json"
        run([*self.command, "--filter", row, "--seconds", str(seconds), "--json", result])
        answer = json.loads(result.read_text())[0]
        Ours.peak = max(Ours.peak, answer["peak_gflops"])
        return answer


class Torch:
    """A worker.py process with one model, in PyTorch and all that Python can call."""

    def __init__(self, model, hidden, data, arguments):
        threads = str(arguments.threads)
        command = [arguments.python, HERE / "worker.py", folder_of(data)]
        self.log = (SCRATCH / f"{model}_h{hidden}{data}.log").open("w+")
        self.process = subprocess.Popen(
            [*command, model, str(hidden), "--threads", threads, "--device", arguments.device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment(arguments.threads),
        )
        self.first = self.answer()
        gpu, versions = self.first["gpu"], self.first["versions"].items()
        self.version = ", ".join(map(" ".join, versions)) + (f" on {gpu}" if gpu else "")

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

    def __init__(self, model, hidden, data, arguments, first):
        folder = folder_of(data)
        entry = json.loads((folder / "losses.json").read_text())[f"{model}_h{hidden}"]
        files = [folder / entry["data"], model, folder / entry["weights"]]
        self.process = subprocess.Popen(
            [self.compiled(arguments.python), *files, str(arguments.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(arguments.threads),
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

    def __init__(self, model, hidden, data, batch, mode):
        self.model, self.batch, self.mode = (model, hidden, data), batch, mode
        self.name = f"{model}/h{hidden}/b{batch}/{mode}" + (f"/{data}" if data else "")
        self.speeds = {name: [] for name in ("ours", *PEERS)}
        self.gflops = []  # of our products, per core

    def measure(self, ours, torch, libtorch, arguments):
        work = self.batch, self.mode, arguments.seconds
        on_cpu_alone = arguments.device == "cpu" and arguments.threads == 1
        figure = "instances_per_cpu_s" if on_cpu_alone else "instances_per_s"
        our = ours.measure(*work)
        self.speeds["ours"].append(our[figure])
        cores = our["cpu_share"] if on_cpu_alone else arguments.threads
        self.gflops.append(our["gflops"] / cores)
        for name, modes in torch.first["modes"].items():
            if self.mode in modes:
                self.speeds[name].append(torch.measure(name, *work)[figure])
        if libtorch:
            self.speeds["C++"].append(libtorch.measure(*work)[figure])
        last = {name: speeds[-1] for name, speeds in self.speeds.items() if speeds}
        figures = ", ".join(f"{name} {speed:.0f}" for name, speed in last.items())
        say(f"{self.name}: {figures}")

    def medians(self):
        return {name: statistics.median(speeds) for name, speeds in self.speeds.items() if speeds}

    def line(self, peers):
        """The entries of a line of the table."""
        figures = [report.with_interval(speeds) if speeds else ""
                   for speeds in (self.speeds[name] for name in ("ours", *peers))]
        best = max((name for name in peers if self.speeds[name]), key=self.medians().get)
        share = f"{100 * statistics.median(self.gflops) / Ours.peak:.0f} %"
        ours = self.speeds["ours"]
        return [self.name, figures[0], share, *figures[1:], report.ratio(ours, self.speeds[best]), best]


def measure_rows(rows, arguments):
    """Measures all rows once, then again: a busy period affects one round of many rows."""
    pairs = {}
    for model in dict.fromkeys(row.model for row in rows):
        say(f"{model[0]}/h{model[1]} {model[2]}: comparing losses, compiling")
        torch = Torch(*model, arguments)
        on_cpu = arguments.device == "cpu"
        libtorch = Libtorch(*model, arguments, torch.first) if on_cpu else None
        pairs[model] = Ours(*model, arguments), torch, libtorch
    version = max((torch.version for _, torch, _ in pairs.values()), key=len)
    for number in range(arguments.rounds):
        say(f"round {number + 1} of {arguments.rounds}")
        for row in rows:
            row.measure(*pairs[row.model], arguments)
        if arguments.json:
            results = [
                {"row": row.name, "instances_per_s": row.medians(), "rounds": row.speeds}
                for row in rows
            ]
            everything = {
                "versions": version,
                "peak_gflops": Ours.peak,
                "device": arguments.device,
                "threads": arguments.threads,
                "rows": results,
            }
            arguments.json.write_text(json.dumps(everything, indent=2) + "\n")
    for _, *peers in pairs.values():
        for peer in filter(None, peers):
            peer.close()
    return version


def table(rows):
    peers = [name for name in PEERS if any(row.speeds[name] for row in rows)]
    titles = ["row", "ours", "of peak", *peers, "ours : best", "best"]
    return report.table([titles, *(row.line(peers) for row in rows)])


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--filter", default="/b(64|16|1)/",
           help="only rows that contain this (/b(64|16|1)/)")
    option("--list", action="store_true", help="print the names of the rows")
    option("--rounds", type=int, default=3, help="take the median of so many (3)")
    option("--seconds", type=float, default=0.5, help="how long a measurement takes (0.5)")
    option("--threads", type=int, choices=(1, 2), default=1)
    option("--json", type=pathlib.Path, help="also write all figures to this file")
    option("--real", type=pathlib.Path,
           help="a folder with sst/train.txt and ud_english_ewt/en_ewt-ud-train.conllu")
    option("--dynet", type=pathlib.Path, help="DyNet's source: build it (ten minutes), and time it")
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
    if not arguments.real:
        say("no rows with real data: need --real FOLDER")
        rows = [row for row in rows if not row.model[2]]
    if arguments.list:
        print(*(row.name for row in every), sep="\n")
        return
    if not rows:
        fail(f'no row contains "{arguments.filter}"; see --list')
    for program in ("throughput", "dump", *["dynet_peer"] * bool(arguments.dynet)):
        if not (arguments.build / "bin" / program).exists():
            fail(f"need {arguments.build / 'bin' / program}; got nothing there: build it first")
    if not arguments.python:
        say("installing what is not there")
        subprocess.run([HERE / "setup.sh"], check=True, stdout=sys.stderr)
        arguments.python = ROOT / "build/python_torch/bin/python"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for data in {bool(row.model[2]) for row in rows}:
        names = {"{}_h{}".format(*row.model) for row in rows if bool(row.model[2]) == data}
        dump = [arguments.build / "bin/dump", *options_of(data, arguments)]
        run([*dump, folder_of(data), "--filter", f"^({'|'.join(names)})$"])
    version = measure_rows(rows, arguments)
    print(f"Instances per second; device: {arguments.device}; threads: {arguments.threads}; "
          f"{version}; peak of a core: {Ours.peak:.0f} GFLOP/s\n")
    print(table(rows), flush=True)
    if arguments.dynet:
        import dynet

        theirs = dynet.build(arguments.dynet.resolve(), SCRATCH / "dynet")
        ours = arguments.build / "bin/dynet_peer"
        print("\n" + dynet.table(theirs, ours, arguments.rounds, arguments.seconds))


START = time.monotonic()
if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Times bench/throughput and the same work in PyTorch by turns, and prints one table.

Before anything is timed, every way of PyTorch must give the same loss from the same weights. Build
bench/throughput and bench/dump first; setup.sh, which this runs where needed, installs PyTorch.
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
PYTHON = HERE / ".venv/bin/python"
MODELS = [("tree_lstm", 64), ("tree_lstm", 128), ("tree_lstm", 256), ("tagger", 50), ("tagger", 256), ("language_model", 256)]
VARIANTS = ["per node", "batched", "compiled", "by hand"]
# Large blocks stay with the process instead of going back to the system after every operation:
# without this PyTorch spends up to a third of its time on page faults.
TUNABLES = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592:glibc.malloc.hugetlb=1"


class Ours:
    """bench/throughput, started anew for every measurement."""

    def __init__(self, arguments, scratch):
        self.program, self.scratch, self.threads = arguments.build / "bin/throughput", scratch, arguments.threads

    def measure(self, model, hidden, batch, mode, seconds):
        row = f"^{model}/h{hidden}/b{batch}/{mode}/fused/auto/t{self.threads}$"
        result = self.scratch / "throughput.json"
        run([self.program, "--filter", row, "--seconds", str(seconds), "--json", result])
        return json.loads(result.read_text())[0]


class Torch:
    """A worker with one model."""

    def __init__(self, model, hidden, arguments, scratch):
        environment = os.environ | {
            "GLIBC_TUNABLES": TUNABLES, "OMP_NUM_THREADS": str(arguments.threads),
            "TORCHINDUCTOR_CACHE_DIR": str(scratch / "compiled"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        self.log = (scratch / "worker.log").open("w+")
        self.process = subprocess.Popen(
            [PYTHON, HERE / "worker.py", scratch / "data", model, str(hidden), "--threads", str(arguments.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment)
        self.version = self.answer()["version"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.log.seek(0)
            sys.exit("PyTorch's worker ended: " + self.log.read()[-2000:])
        return json.loads(line)

    def measure(self, variant, batch, mode, seconds):
        request = {"variant": variant, "batch": batch, "mode": mode, "seconds": seconds}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-2000:]}")


def say(text):
    print(f"[{time.monotonic() - START:5.0f} s] {text}", file=sys.stderr, flush=True)


def measure_rows(model, hidden, rows, arguments, scratch):
    """A result per row: ours and every variant take turns, so that they share quiet and busy times."""
    say(f"{model} h{hidden}: comparing losses, compiling")
    ours, torch = Ours(arguments, scratch), Torch(model, hidden, arguments, scratch)
    results = []
    for batch, mode in rows:
        speeds = {name: [] for name in ["ours", *VARIANTS]}
        for _ in range(arguments.rounds):
            speeds["ours"].append(ours.measure(model, hidden, batch, mode, arguments.seconds)["instances_per_s"])
            for variant in VARIANTS:
                speeds[variant].append(torch.measure(variant, batch, mode, arguments.seconds)["instances_per_s"])
        medians = {name: statistics.median(values) for name, values in speeds.items()}
        results.append({"model": model, "hidden": hidden, "batch": batch, "mode": mode, "threads": arguments.threads,
                        "torch": torch.version, "instances_per_s": medians, "rounds": speeds})
        say(f"{name_of(results[-1])}: " + ", ".join(f"{name} {speed:.0f}" for name, speed in medians.items()))
    torch.close()
    return results


def name_of(result):
    return f"{result['model']}/h{result['hidden']}/b{result['batch']}/{result['mode']}"


def table(results):
    head = ["row", "ours", *VARIANTS, "ours : per node", "ours : best"]
    lines = [head]
    for result in results:
        speeds = result["instances_per_s"]
        best = max(speeds[variant] for variant in VARIANTS)
        lines.append([name_of(result), *(f"{speeds[name]:.0f}" for name in ["ours", *VARIANTS]),
                      f"{speeds['ours'] / speeds['per node']:.2f}", f"{speeds['ours'] / best:.2f}"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    def text(line):
        return "| " + " | ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]) + " |"
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text(head), rule, *map(text, lines[1:])])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows such as tree_lstm/h64/b64/train that contain this regular expression")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many measurements (3)")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long one takes (0.5)")
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
    parser.add_argument("--json", type=pathlib.Path, help="also write all figures to this file")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="folder of the build (build/release)")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    scratch = ROOT / "build/peers"
    rows = {model: [(batch, mode) for batch in (64, 1) for mode in ("train", "infer")
                    if re.search(arguments.filter, f"{model[0]}/h{model[1]}/b{batch}/{mode}")] for model in MODELS}
    if not any(rows.values()):
        sys.exit(f"run.py: need a row that contains {arguments.filter!r}; got none")
    for program in ("throughput", "dump"):
        if not (arguments.build / "bin" / program).exists():
            sys.exit(f"run.py: need {arguments.build / 'bin' / program}; build it first")
    say("PyTorch is installed if it is not there yet")
    subprocess.run([HERE / "setup.sh"], check=True, stdout=sys.stderr)
    scratch.mkdir(parents=True, exist_ok=True)
    run([arguments.build / "bin/dump", scratch / "data"])
    results = []
    for model in MODELS:
        if rows[model]:
            results += measure_rows(*model, rows[model], arguments, scratch)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    results.sort(key=lambda result: -result["batch"])
    print(f"Instances per second, {arguments.threads} thread(s), PyTorch {results[0]['torch']}\n\n{table(results)}")


START = time.monotonic()
if __name__ == "__main__":
    main()

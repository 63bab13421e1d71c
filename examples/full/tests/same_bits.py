#!/usr/bin/env python3
"""Trains examples with 1, 2, 3 and 4 ranks, and once more with ranks that are stopped in the middle
and continue with another number: the best model and all tensors of the last checkpoint must be
those of one rank, byte by byte. DATA is the folder of the data sets, unless DYNET_LIKE_DATA names
it; examples whose data are missing are skipped.

usage: same_bits.py PROGRAMS MPIRUN DATA WORK [EXAMPLE...]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from kill_ranks import ENVIRONMENT

# With 6 shards, 4 ranks have one or two each. The last minibatch of an epoch is smaller.
COMMON = ["--epochs", "8", "--shards", "6", "--hidden", "12", "--embedding", "8"]
STOPPED = (3, 1, 4)  # numbers of ranks: first, second and last part of a run
EWT = "ud_english_ewt/en_ewt-ud-{}.conllu"
# For each example: its data, the end of a sample in the file, the numbers of samples for training
# and for the other parts, and options. The tagger averages parameters; the next two clip gradients.
# Tables of words are updated lazily. The language model writes the states of its streams into
# checkpoints.
EXAMPLES = {
    "tree_lstm": ("sst/{}.txt", "\n", 530, 40, ["--dropout", "0.3"]),
    "tagger": (EWT, "\n\n", 130, 30, ["--crf", "--dropout", "0.3", "--word-dropout", "0.3",
                                      "--character-hidden", "12"]),
    "language_model": ("tinyshakespeare/input.txt", "\n", 400, 0,
                       ["--level", "word", "--layers", "2", "--dropout", "0.3", "--clip", "0.1",
                        "--sequence-length", "16"]),
    "transition_parser": (EWT, "\n\n", 150, 30, ["--dropout", "0.3"]),
}  # fmt: skip


def piece(source, target, end, count):
    """Copies the first samples of a file."""
    samples = source.read_text(encoding="utf-8").split(end)[:count]
    target.write_text("".join(sample + end for sample in samples), encoding="utf-8")
    return str(target)


def data_options(name, data, work):
    """None if the data are missing."""
    pattern, end, train, other, _ = EXAMPLES[name]
    parts = {"train": train} | ({"dev": other, "test": other} if other else {})
    options = []
    for part, count in parts.items():
        source = data / pattern.format(part)
        if not source.exists():
            return None
        options += [f"--{part}", piece(source, work / (part + source.suffix), end, count)]
    return options


def tensors(file):
    """The bytes of each tensor of a safetensors file, by its name."""
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    return {name: content[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
            for name, entry in header.items()}  # fmt: skip


def ask_to_stop(mpirun):
    """Asks one rank to stop, which tells the others; mpirun itself would wait for a second."""
    children = Path(f"/proc/{mpirun.pid}/task/{mpirun.pid}/children").read_text().split()
    try:
        os.kill(int(children[-1]), signal.SIGTERM)
    except (OSError, IndexError):
        pass  # it is done already


class Example:
    def __init__(self, name, programs, mpirun, data, work):
        self.name, self.mpirun, self.program = name, mpirun, programs / name
        self.work = work / name
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self.data = data_options(name, data, self.work)
        self.environment = os.environ | ENVIRONMENT

    def start(self, ranks, folder, *more):
        command = [self.mpirun, "-n", str(ranks), str(self.program), *COMMON, *self.data,
                   *EXAMPLES[self.name][4], "--threads", str(1 + ranks % 2),
                   "--output", str(self.work / folder), *more]  # fmt: skip
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)  # fmt: skip

    def run(self, ranks, folder, *more):
        run = self.start(ranks, folder, *more)
        output, _ = run.communicate(timeout=300)
        if run.returncode != 0:
            sys.exit(f"{self.name}: {ranks} ranks ended with {run.returncode}\n{output}")

    def stop(self, ranks, folder, *more):
        """Whether a run was stopped, some time after its first epoch."""
        run = self.start(ranks, folder, *more)
        lines = []
        for line in run.stdout:
            lines.append(line)
            if line.startswith("epoch "):
                break
        else:
            sys.exit(f"{self.name}: {ranks} ranks trained no epoch\n{''.join(lines)}")
        ask_to_stop(run)
        output, _ = run.communicate(timeout=300)
        return "Stopped and saved" in output

    def expect_same(self, folder):
        for file in ("best.safetensors", "checkpoint.safetensors"):
            one, other = tensors(self.work / "1" / file), tensors(self.work / folder / file)
            different = [name for name in one | other if one.get(name) != other.get(name)]
            if different:
                sys.exit(f"{self.name}, {folder}: need the tensors of one rank in {file}; "
                         f"got others: {', '.join(different)}")  # fmt: skip
        if (self.work / "1" / "best.safetensors").read_bytes() != (
            self.work / folder / "best.safetensors"
        ).read_bytes():
            sys.exit(f"{self.name}, {folder}: need the same best.safetensors; got another")

    def check(self):
        begin = time.monotonic()
        for ranks in (1, 2, 3, 4):
            self.run(ranks, str(ranks))
            self.expect_same(str(ranks))
        first, second, last = STOPPED
        stops = self.stop(first, "stopped") + self.stop(second, "stopped", "--resume")
        self.run(last, "stopped", "--resume")
        self.expect_same("stopped")
        if stops == 0:
            sys.exit(f"{self.name}: need a run that is stopped before its end; got none")
        print(f"{self.name}: the bits of one rank with 2, 3 and 4, and of {first}, {second} and "
              f"{last} that went on after {stops} stops ({time.monotonic() - begin:.1f} s)",
              flush=True)  # fmt: skip


def main(programs, mpirun, data, work, *names):
    unknown = set(names) - set(EXAMPLES)
    if unknown:
        sys.exit(f"need examples of {', '.join(EXAMPLES)}; got {', '.join(sorted(unknown))}")
    data = os.environ.get("DYNET_LIKE_DATA", data)
    missing = 0
    for name in names or EXAMPLES:
        example = Example(name, Path(programs), mpirun, Path(data), Path(work))
        if example.data is None:
            missing += 1
            print(f"{name}: skipped: no {EXAMPLES[name][0]} in {data}")
        else:
            example.check()
    if missing == len(names or EXAMPLES):
        sys.exit(77)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])

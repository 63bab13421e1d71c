"""Counts the instructions of steps of bench/long_runs.cpp: later ones may not take more.

usage: long_runs_test.py PROGRAM
It needs a valgrind that knows the program's instructions, and is skipped without it (exit status
77): none knows AVX-512, with which the preset "release" builds where the processor has it.
"""
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

STEPS, ROWS = 160, 8
# Steps differ in size, and a table of types that is full is made anew.
GROWTH = 1.3


def count(program):
    """Instructions of each eighth of the steps, by kind of step."""
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=counted_steps",
             "--dump-after=counted_steps", f"--callgrind-out-file={folder}/out",
             program, "--steps", str(STEPS), "--hidden", "4"],
            check=True, capture_output=True, text=True).stdout
        kinds = list(dict.fromkeys(re.findall(r"^((?:new|one) \w+)", printed, re.MULTILINE)))
        # The first dump, without a number, is of what follows the last step.
        files = [pathlib.Path(folder, f"out.{1 + i}") for i in range(ROWS * len(kinds))]
        totals = [int(re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE)[1])
                  for file in files]
    return {kind: totals[ROWS * i:ROWS * (i + 1)] for i, kind in enumerate(kinds)}


def main():
    if not shutil.which("valgrind"):
        print("SKIPPED: need valgrind")
        return 77
    try:
        counts = count(sys.argv[1])
    except subprocess.CalledProcessError as error:
        if error.returncode != -signal.SIGILL:
            sys.exit(f"{error}\n{error.stderr}")
        print("SKIPPED: need a valgrind that knows this processor's instructions")
        return 77
    failed = False
    for kind, totals in counts.items():
        growth = sum(totals[-3:]) / sum(totals[1:4])
        failed |= growth > GROWTH
        print(f"{kind}: " + " ".join(f"{ROWS * total / STEPS:.0f}" for total in totals) +
              f" instructions per step, growth {growth:.2f}, at most {GROWTH}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

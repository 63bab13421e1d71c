"""Compares examples/full/dynet_japanese_tagger with the package nagisa, whose model it reads.

usage: nagisa_compare.py PROGRAM FOLDER [LINES]
FOLDER is the output of scripts/nagisa_model.sh. Compares about LINES of its lines of text, evenly
spaced (default: all). Prints how many lines have the same words and tags, the largest difference of
scores, and the processor seconds of both; pin it to one core to compare these.
Ends with 1 unless all words and tags are the same and scores differ by at most 1e-4.
"""
import pathlib
import subprocess
import sys
import time

import nagisa
import numpy


def record(scores, function):
    """Wraps a function, whose results are also appended to the scores."""
    def recording(*arguments):
        result = function(*arguments)
        scores.extend(numpy.asarray(row) for row in result)
        return result
    return recording


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with open(folder / "manual_pages.txt", encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")[:-1]
    if len(sys.argv) > 3:
        lines = lines[::max(1, len(lines) // int(sys.argv[3]))]
    text = "".join(line + "\n" for line in lines)

    def ask(*options):
        return subprocess.run([program, str(folder), *options], input=text, encoding="utf-8",
                              capture_output=True, check=True)

    start = time.process_time()
    expected = [str(nagisa.tagging(line)) for line in lines]
    seconds = time.process_time() - start
    answer = ask("--time")
    got = answer.stdout.split("\n")[:-1]

    model, theirs = nagisa.tagger._model, []
    model.encode_ws = record(theirs, model.encode_ws)
    model.encode_pt = record(theirs, model.encode_pt)
    for line in lines:
        str(nagisa.tagging(line))
    ours = [numpy.array(row.split(), dtype=numpy.float64)
            for row in ask("--scores").stdout.split("\n") if row]
    difference = (max(abs(a - b).max() for a, b in zip(ours, theirs, strict=True))
                  if [len(a) for a in ours] == [len(b) for b in theirs] else numpy.inf)

    same = sum(a == b for a, b in zip(got, expected))
    words = sum(len(line.split(" ")) for line in expected if line)
    print(f"{same} of {len(lines)} lines with {words} words are the same; "
          f"scores differ by at most {difference:.2g}")
    print(f"nagisa: {len(lines)} lines in {seconds:.3f} s\n{program}: {answer.stderr.strip()}")
    for ours, theirs in zip(got, expected):
        if ours != theirs:
            print(f"{ours}\nbut nagisa:\n{theirs}")
    return 0 if same == len(lines) == len(got) and difference < 1e-4 else 1


sys.exit(main())

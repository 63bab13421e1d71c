#!/usr/bin/env python3
"""Speed of Hugging Face's tokenizers, as bench/tokenize.cpp measures ours: one thread, the median of some passes.

usage: tokenizers_peer.py TOKENIZER TEXT [SECONDS]
"""
import os
import statistics
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402: after the variables


def median(function, seconds):
    begin, times = time.perf_counter(), []
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main():
    path, text, *seconds = sys.argv[1:]
    with open(text, encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    size = sum(len(line.encode()) for line in lines) / 1e6
    seconds = float(seconds[0]) if seconds else 2
    single = median(lambda: [tokenizer.encode(line) for line in lines], seconds)
    batch = median(lambda: tokenizer.encode_batch(lines), seconds)
    print(f"one by one {size / single:.2f} MB/s, encode_batch {size / batch:.2f} MB/s")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()

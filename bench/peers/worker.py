#!/usr/bin/env python3
"""Does PyTorch's part of run.py: one model, which it first compares with ours.

Reads a request a line, {"variant", "batch", "mode", "seconds"}, and answers each with a line.
"""

import argparse
import json
import sys
import time

import torch

import data
import sequences
import trees

VARIANTS = {
    "tree_lstm": trees.VARIANTS,
    "tagger": sequences.VARIANTS,
    "language_model": sequences.VARIANTS,
}
# As in bench/throughput and bench/dump.
RATE = 0.01
WARM_UP = 3
FIRST = 64

TOLERANCE = 1e-4


def check_losses(variants, instances, weights, expected):
    """All ways must give ours' loss of the first minibatch, and it must fall alike with updates."""
    first, falls = instances[:FIRST], {}
    for name, make in variants.items():
        model = make(weights)
        before, *_, after = [model.train(first, RATE / FIRST) for _ in range(4)] + [model.infer(first)]
        need(abs(before / FIRST / expected - 1) < TOLERANCE, name, f"the loss {expected}, as ours", before / FIRST)
        falls[name] = (before - after) / FIRST
    for name, fall in falls.items():
        # Per node, the gradients are only autograd's.
        need(abs(fall / falls["per node"] - 1) < 0.01, name, f"the fall {falls['per node']}, as per node", fall)


def need(holds, variant, wanted, got):
    if not holds:
        sys.exit(f"[{variant}] need {wanted}; got {got} (has nn/ the orders of rows that data.py says?)")


def measure(make, instances, weights, request):
    """Instances per second, from words per second, since instances differ in length."""
    model, batch, next_instance, words = make(weights), request["batch"], 0, 0

    def step():
        nonlocal next_instance, words
        minibatch = [instances[(next_instance + i) % len(instances)] for i in range(batch)]
        next_instance += batch
        words += sum(map(len, minibatch))
        return model.train(minibatch, RATE) if request["mode"] == "train" else model.infer(minibatch)

    for _ in range(WARM_UP):
        step()
    words = 0
    begin = time.perf_counter()
    while (seconds := time.perf_counter() - begin) < request["seconds"] or words == 0:
        loss = step()
    return {"instances_per_s": words / seconds / (sum(map(len, instances)) / len(instances)), "final_loss": loss / batch}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what bench/dump wrote")
    parser.add_argument("model", choices=VARIANTS)
    parser.add_argument("hidden", type=int)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    torch._dynamo.config.recompile_limit = 64  # for one item, several, with and without gradients
    variants = VARIANTS[arguments.model]
    instances, weights, expected = data.load(arguments.folder, arguments.model, arguments.hidden)
    check_losses(variants, instances, weights, expected)
    print(json.dumps({"version": torch.__version__, "variants": list(variants)}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(measure(variants[request["variant"]], instances, weights, request)), flush=True)


if __name__ == "__main__":
    main()

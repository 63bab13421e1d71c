#!/usr/bin/env python3
"""PyTorch's part of run.py: runs one model, after comparing it with ours.

Reads requests, one per line, {"variant", "batch", "mode", "seconds"}, and answers each with a line.
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
RATE = 0.01  # per instance of a minibatch
WARM_UP = 3
FIRST = 64

# of a loss: gates in a wrong order may change the first loss by as little as 2e-5
TOLERANCE = 5e-6
FALL_TOLERANCE = 1e-2  # of the decrease of a loss


def check_losses(variants, instances, weights, expected):
    """All variants must give our loss of the first minibatch, and the same decrease by updates."""
    first, falls = instances[:FIRST], {}
    for name, make in variants.items():
        model = make(weights)
        before = model.infer(first)
        need_equal(before / FIRST, expected, TOLERANCE, name, "our loss")
        if not can_train(make):
            continue
        for _ in range(4):
            model.train(first, RATE / FIRST)
        falls[name] = (before - model.infer(first)) / FIRST
        for instance in first[:8]:  # a single item uses code that is compiled for it
            model.train([instance], 0)
            model.infer([instance])
    for name, fall in falls.items():
        # Per node, autograd finds all gradients. A decrease is small beside the rounding errors of
        # losses.
        need_equal(fall, falls["per node"], FALL_TOLERANCE, name, "the fall")
    return falls["per node"]


def can_train(make):
    return hasattr(make, "train")


def need_equal(got, wanted, tolerance, variant, what):
    if not abs(got / wanted - 1) < tolerance:
        rows = "are the orders of rows in data.py those of nn/?"
        sys.exit(f"[{variant}] need {what} {wanted}; got {got} ({rows})")


def measure(make, instances, weights, request):
    """Instances of mean length per second. A step ends when the device has its loss."""
    model, batch, next_instance, words = make(weights), request["batch"], 0, 0

    def step():
        nonlocal next_instance, words
        minibatch = [instances[(next_instance + i) % len(instances)] for i in range(batch)]
        next_instance += batch
        words += sum(map(len, minibatch))
        if request["mode"] == "train":
            return model.train(minibatch, RATE / batch)
        return model.infer(minibatch)

    if hasattr(model, "shape"):  # compiles for all shapes
        minibatches = [instances[i : i + batch] for i in range(0, len(instances), batch)]
        for minibatch in {model.shape(some): some for some in minibatches}.values():
            model.train(minibatch, 0) if request["mode"] == "train" else model.infer(minibatch)
    begin = time.perf_counter()
    for _ in range(WARM_UP):
        if time.perf_counter() - begin < request["seconds"]:
            step()
    words, begin, processor = 0, time.perf_counter(), time.process_time()
    while (seconds := time.perf_counter() - begin) < request["seconds"] or words == 0:
        loss = step()
    mean = words / (sum(map(len, instances)) / len(instances))
    return {
        "instances_per_s": mean / seconds,
        "instances_per_cpu_s": mean / (time.process_time() - processor),
        "final_loss": loss / batch,
    }


def versions():
    packages = {"PyTorch": "torch", "ONNX Runtime": "onnxruntime", "JAX": "jax"}
    return {name: sys.modules[module].__version__ for name, module in packages.items()
            if module in sys.modules}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="the output of bench/dump")
    parser.add_argument("model", choices=VARIANTS)
    parser.add_argument("hidden", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    # Products in full precision: cuDNN's layers would use TF32 by default.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch._dynamo.config.recompile_limit = 64  # for one item, several, with and without gradients
    variants = dict(VARIANTS[arguments.model])
    if arguments.device == "cpu" and arguments.model != "tree_lstm":
        import jax_lstm
        import padded

        variants |= padded.VARIANTS | {"JAX": jax_lstm.Jax}
    instances, weights, expected = data.load(
        arguments.folder, arguments.model, arguments.hidden, arguments.device
    )
    fall = check_losses(variants, instances, weights, expected)
    gpu = torch.cuda.get_device_name() if arguments.device == "cuda" else None
    modes = {name: ["infer"] + ["train"] * can_train(make) for name, make in variants.items()}
    answer = {"gpu": gpu, "loss": expected, "fall": fall, "modes": modes, "versions": versions()}
    print(json.dumps(answer), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        result = measure(variants[request["variant"]], instances, weights, request)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads (or with --write makes) a safetensors file with the reference package, for comparison.

Prints {"metadata": {...}, "tensors": {name: {"dtype", "shape", "sum"}}} as JSON.
Needs the packages safetensors and numpy.
"""

import argparse
import json

import numpy
import safetensors
import safetensors.numpy


def describe(path):
    with safetensors.safe_open(path, framework="numpy") as file:
        tensors = {}
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            tensors[name] = {
                "dtype": str(tensor.dtype),
                "shape": list(tensor.shape),
                "sum": float(tensor.sum(dtype=numpy.float64)),
            }
        return {"metadata": file.metadata() or {}, "tensors": tensors}


def write_sample(path):
    """What tests/safetensors_file_test.cpp expects to read."""
    tensors = {
        "matrix": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4,
        "vector": numpy.array([1e300, -0.5], dtype=numpy.float64),
        "scalar": numpy.array(7, dtype=numpy.int64),
        "empty": numpy.zeros((0, 4), dtype=numpy.float32),
        "bytes": numpy.array([1, 2, 3], dtype=numpy.uint8),
    }
    safetensors.numpy.save_file(tensors, path, metadata={"by": "Python", "n\u00e4me": "\u4e2d"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--write", action="store_true", help="write a sample file first")
    arguments = parser.parse_args()
    if arguments.write:
        write_sample(arguments.path)
    print(json.dumps(describe(arguments.path), sort_keys=True))


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Adds ONNX Runtime and JAX to the Python environment of scripts/python_torch.sh, which has PyTorch.
# torch.compile also needs a compiler and Python's headers (apt install g++ python3-dev).
#
# usage: bench/peers/setup.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/python_torch.sh
build/python_torch/bin/python -c "import jax, onnx, onnxruntime" 2>/dev/null ||
  build/python_torch/bin/python -m pip install --quiet onnx onnxruntime jax

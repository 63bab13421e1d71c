#!/usr/bin/env bash
# Makes the virtual environment that the peers run in: PyTorch's newest release, for the CPU only.
#
# usage: bench/peers/setup.sh [--again]
#   --again   remove what is there first, to get a newer release
#
# About 600 MB are downloaded: PyTorch without CUDA's libraries, which its package would bring along.
set -euo pipefail
cd "$(dirname "$0")"

case "${1:-}" in
  "") ;;
  --again) rm -rf .venv ;;
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "setup.sh: need --again or nothing; got $1" >&2
    exit 2
    ;;
esac

works() {
  [[ -x .venv/bin/python ]] && .venv/bin/python -c "import torch"
}

if works 2>/dev/null; then
  exit 0
fi

# On Debian and Ubuntu a compiler, binutils and the module venv may be missing; PyTorch's compiler
# needs the headers of Python.
if ! python3 -c 'import ensurepip, venv' 2>/dev/null || ! command -v cc nm readelf >/dev/null; then
  as_root=()
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y python3-venv python3-dev g++
fi

rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --no-deps torch
.venv/bin/pip install --quiet filelock fsspec jinja2 networkx numpy safetensors setuptools sympy \
  typing_extensions
.venv/bin/python cpu_only.py "$(echo .venv/lib/python3*/site-packages/torch)"
works

#!/usr/bin/env bash
# Makes a virtual environment for bench/peers: the newest releases of PyTorch, without CUDA's libraries, and
# of ONNX Runtime and JAX.
#
# usage: bench/peers/setup.sh [--again]
#   --again   removes the environment first, to get a newer release
#
# Downloads about 750 MB into build/peers/venv; does nothing if they work already.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=build/peers/venv

case "${1:-}" in
  "") ;;
  --again) rm -rf $environment ;;
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "setup.sh: need --again or nothing; got $1" >&2
    exit 2
    ;;
esac

works() {
  $environment/bin/python - <<'END'
import jax, numpy, onnx, onnxruntime, torch

layer = torch.nn.LSTM(2, 3)
descent = torch.optim.SGD(layer.parameters(), 0.1)
layer(torch.ones(4, 1, 2))[0].sum().backward()
descent.step()
print("PyTorch", torch.__version__, "works")
END
}

# Python with venv, its headers for torch.compile, a compiler and binutils.
has_tools() {
  command -v cc c++ nm readelf >/dev/null && python3 -c '
import ensurepip, os, sysconfig, venv
os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))' 2>/dev/null
}

if works 2>/dev/null; then
  exit 0
fi
if ! has_tools; then
  as_root=()
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y g++ python3-dev python3-venv
fi
rm -rf $environment
python3 -m venv $environment
# The dependencies that importing PyTorch needs, and packages that the peers use.
$environment/bin/pip install --quiet filelock fsspec jinja2 networkx numpy \
  'setuptools>=77' sympy typing_extensions onnx onnxruntime jax
$environment/bin/pip install --quiet --no-deps torch
python3 bench/peers/cpu_only.py $environment/lib/python3*/site-packages/torch
works

#!/usr/bin/env bash
# Makes a Python environment in build/python_torch with PyTorch, transformers and Sentence
# Transformers, for tests and benchmarks that compare encoders with them.
#
# usage: scripts/python_torch.sh
# Installs from PyPI, 5 GB. Does nothing if the packages are installed. Tests that need them are
# skipped otherwise, unless DYNET_LIKE_PYTHON_TORCH names a Python that has them.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi

environment=build/python_torch
packages=(torch==2.15.0 transformers==5.24.0 sentence-transformers==6.2.0 tokenizers numpy safetensors)
"$environment/bin/python" -c "import torch, transformers, sentence_transformers, tokenizers" 2>/dev/null && exit 0
mkdir -p build
python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
  --no-cache-dir --only-binary :all: "${packages[@]}"
"$environment/bin/python" -c "import torch, transformers, sentence_transformers, tokenizers"
echo "installed in $environment: ${packages[*]}"

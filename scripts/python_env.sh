#!/usr/bin/env bash
# Makes a Python environment in build/python with the packages that tests compare with.
#
# usage: scripts/python_env.sh [PACKAGE==VERSION...]
# Installs the packages of scripts/python_packages.txt and the named ones, from PyPI. Does nothing
# if they are installed. If they cannot be installed, it says so and ends with 1; then tests that need
# them are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi

environment=build/python
log="$environment.log"
mapfile -t packages < <(grep -v "^#" scripts/python_packages.txt; (($# == 0)) || printf "%s\n" "$@")

# Checks that they can be imported, too: an environment breaks when the system's Python is replaced.
has_packages() {
  "$environment/bin/python" - "${packages[@]}" 2>/dev/null <<'END_OF_PYTHON'
import importlib.metadata, sys
import numpy, safetensors.numpy
for package, version in (p.split("==") for p in sys.argv[1:]):
    assert importlib.metadata.version(package) == version
END_OF_PYTHON
}
# Without compilers and long waits: installs packages only as wheels.
install() {
  python3 -m venv "$environment" &&
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
      --only-binary :all: --retries 1 --timeout 60 "${packages[@]}"
}

has_packages && exit 0
mkdir -p build
if ! { install && has_packages; } >"$log" 2>&1; then
  tail -n 3 "$log" >&2
  echo "python_env.sh: need ${packages[*]} in $environment; they could not be installed" \
    "(all of it is in $log). Tests that compare with them are skipped, unless DYNET_LIKE_PYTHON" \
    "names a Python that has them." >&2
  exit 1
fi
echo "installed in $environment: ${packages[*]}"

#!/usr/bin/env bash
# Makes an environment of Python with the packages that tests compare with, in build/python.
#
# usage: scripts/python_env.sh
# The packages are those of scripts/python_packages.txt, from PyPI. Nothing is done where they are
# there. Where they cannot be had, it says so and ends with 1; then the tests that need them skip.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 0
fi

environment=build/python
packages=scripts/python_packages.txt
has_packages() { "$environment/bin/python" -c 'import numpy, safetensors.numpy'; }

if cmp -s "$packages" "$environment/installed.txt" && has_packages 2>/dev/null; then
  exit 0
fi

log="$environment.log"
mkdir -p build
rm -rf "$environment"
# No compilers and no long waits: a package comes as a wheel, or not at all.
if python3 -m venv "$environment" >"$log" 2>&1 &&
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --only-binary :all: --retries 1 --timeout 20 -r "$packages" >>"$log" 2>&1 &&
  has_packages >>"$log" 2>&1; then
  cp "$packages" "$environment/installed.txt"
  echo "installed for the tests, in $environment: $(grep -v '^#' "$packages" | tr '\n' ' ')"
  exit 0
fi
rm -rf "$environment"
tail -n 3 "$log" >&2
echo "python_env.sh: numpy and safetensors could not be installed (all of it is in $log)." \
  "Tests that compare with them are skipped, unless DYNET_LIKE_PYTHON names a Python that has them." >&2
exit 1

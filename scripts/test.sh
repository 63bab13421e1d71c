#!/usr/bin/env bash
# Installs missing packages, builds the release preset and runs all tests.
#
# usage: scripts/test.sh [ctest's arguments]
#   scripts/test.sh -R Safetensors    only the suites with that name
#   scripts/test.sh -LE install       without the tests that build a user's project
# With DYNET_LIKE_THOROUGH=1, tests of failing memory let every allocation fail, not only some.
# DYNET_LIKE_PRESET names another preset, such as asan; DYNET_LIKE_PYTHON a Python with numpy and
# safetensors to use instead of the one that is installed in build/python.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 0
fi

preset="${DYNET_LIKE_PRESET:-release}"
scripts/install_deps.sh
[[ -n ${DYNET_LIKE_PYTHON:-} ]] || scripts/python_env.sh || true  # without it, tests are skipped
scripts/build.sh "$preset"

status=0
ctest --preset "$preset" -j "$(nproc 2>/dev/null || echo 2)" "$@" || status=$?

# A test program that skips a case passes: so list the skipped cases.
log="build/$preset/Testing/Temporary/LastTest.log"
if [[ -f $log ]] && grep -q '^\[  SKIPPED \] .* ms)$' "$log"; then
  echo "Skipped cases:"
  grep '^\[  SKIPPED \] .* ms)$' "$log" | sed 's/^\[  SKIPPED \]/ /' | sort -u
fi
exit "$status"

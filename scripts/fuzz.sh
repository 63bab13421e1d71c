#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while. Stops at the first failure.
#
# usage: scripts/fuzz.sh [SECONDS [TARGET...]]
#   SECONDS  for each target, default 20
# Inputs that reach new code are kept in build/fuzz/corpus/TARGET, inputs that fail in
# build/fuzz/findings. Seeds are in tests/fuzz/seeds/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-20}"
if [[ $seconds == -h || $seconds == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz.sh: need a number of seconds from 1; got $seconds" >&2
  exit 2
fi
shift || true

targets=("$@")
if ((${#targets[@]} == 0)); then
  for source in tests/fuzz/*.cpp; do
    targets+=("$(basename "$source" .cpp)")
  done
fi
scripts/build.sh asan "${targets[@]}"

mkdir -p build/fuzz/findings
for target in "${targets[@]}"; do
  folders=("build/fuzz/corpus/$target")
  mkdir -p "${folders[0]}"
  if [[ -d tests/fuzz/seeds/$target ]]; then
    folders+=("tests/fuzz/seeds/$target")
  fi
  echo "fuzzing $target for $seconds s"
  log="build/fuzz/findings/$target.log"
  if ! "build/asan/bin/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="build/fuzz/findings/$target-" "${folders[@]}" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz.sh: $target has a finding; all of it is in $log" >&2
    exit 1
  fi
  tail -n 1 "$log"
done

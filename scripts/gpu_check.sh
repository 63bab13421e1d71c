#!/usr/bin/env bash
# Builds the project for GPUs, tests and measures it on this machine's GPU, and leaves texts and JSON.
# It needs no network: scripts/gpu_pack.sh makes a folder that has what is needed beside CUDA 13.0,
# CMake 3.25, Ninja, g++ 12 or clang 14 and, for the comparison, Python with PyTorch for CUDA.
#
# usage: FOLDER/gpu_check.sh [OPTION...]           a folder of gpu_pack.sh
#        scripts/gpu_check.sh [OPTION...]          any checkout whose dependencies are installed
#   --results DIR    where everything goes (default: gpu_results beside the sources)
#   --steps LIST     some of the steps below, with commas between them (default: all)
#   --targets LIST   build these programs only, with commas between them, and run only their tests:
#                    ops_tests,throughput for a first look (default: everything)
#   --device NAME    cuda (default); cuda-host rehearses without a GPU: it builds the preset
#                    cuda-host, and kernels run on the CPU
#   --jobs N         compilers at once (default: the number of processors)
#   --python PATH    the Python that has PyTorch (default: python3)
#   --seconds S      how long a row of the benchmark is measured (default: 2)
#
# Steps, in this order:
#   machine      what this machine is: GPU, driver, toolkit, compiler, PyTorch
#   configure    the build, in build/PRESET of the sources
#   build        the build itself; programs that compile are built even if others do not
#   tests        ctest -L gpu: the tests of the library with everything on the GPU (cuda-host: -L cuda)
#   sanitizer    compute-sanitizer over some of them (memory, races, barriers); skipped if it is not
#                installed
#   throughput   bench/throughput --device NAME, which also predicts the time of a minibatch: the
#                table has the predictions beside what was measured
#   peers        the same work in PyTorch on the same GPU; skipped without PyTorch or a GPU
#
# A step that fails is recorded, and the others run all the same. The results: STEP.txt, all that a
# step printed; summary.txt and summary.json, a line per step with its state and its seconds;
# tests.xml, throughput.json, peers.json. Exit status: 0 if no step failed, 1 otherwise. With an H100
# and 16 processors we expect the better part of an hour, most of it for building and for the peers.
set -uo pipefail

fail() {
  echo "gpu_check.sh: $1" >&2
  exit 2
}

root="$(cd "$(dirname "$0")/.." && pwd)"
all_steps=(machine configure build tests sanitizer throughput peers)
steps=("${all_steps[@]}") targets=() device=cuda jobs="$(nproc)" python=python3 seconds=2
results="$root/../gpu_results"
while (($# > 0)); do
  case "$1" in
    -h | --help)
      sed -n '2,37s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --results | --steps | --targets | --device | --jobs | --python | --seconds)
      (($# > 1)) || fail "need a value after $1; got nothing"
      case "$1" in
        --results) results="$2" ;;
        --steps) IFS=, read -ra steps <<<"$2" ;;
        --targets) IFS=, read -ra targets <<<"$2" ;;
        --device) device="$2" ;;
        --jobs) jobs="$2" ;;
        --python) python="$2" ;;
        --seconds) seconds="$2" ;;
      esac
      shift
      ;;
    *) fail "need an option; got $1 (see --help)" ;;
  esac
  shift
done
[[ $device == cuda || $device == cuda-host ]] || fail "need --device cuda or cuda-host; got $device"
[[ $jobs =~ ^[1-9][0-9]*$ ]] || fail "need a number for --jobs; got $jobs"
for step in "${steps[@]}"; do
  [[ " ${all_steps[*]} " == *" $step "* ]] || fail "need steps of ${all_steps[*]}; got $step"
done
# CUDA 13 needs driver 580: to know that after an hour of building would be late.
if [[ $device == cuda ]] && command -v nvidia-smi >/dev/null; then
  driver="$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
  [[ ! $driver =~ ^([0-9]+)\. ]] || ((BASH_REMATCH[1] >= 580)) ||
    fail "need a driver of version 580 or later for CUDA 13; got $driver"
fi
mkdir -p "$results" || fail "need a folder for --results; got $results"
results="$(cd "$results" && pwd)"
cd "$root" || exit 2
export PATH="$PATH:/usr/local/cuda/bin"
build="build/$device"
third_party="$root/../third_party"

# ------------------------------------------------------------------------------------- the steps
# What they print goes to a file. One that cannot run here returns 77; its last line says why.

step_machine() {
  date -u
  uname -srm
  cat .packed_commit 2>/dev/null || git rev-parse HEAD
  lscpu | grep -E '^(Model name|CPU\(s\))'
  local missing=()
  for command in nvidia-smi nvcc cmake ninja c++ "$python" compute-sanitizer; do
    command -v "$command" || missing+=("$command")
  done
  nvcc --version
  cmake --version | head -1
  c++ --version | head -1
  "$python" -c 'import torch; print("PyTorch", torch.__version__, "GPU:", torch.cuda.is_available())'
  nvidia-smi
  local status=$?
  ((${#missing[@]} == 0)) || echo "not on the PATH: ${missing[*]}"
  [[ $device != cuda ]] || return $status
}

step_configure() {
  local options=()
  [[ ! -d $third_party ]] || options+=("-DCMAKE_PREFIX_PATH=$(cd "$third_party" && pwd)"
    -DCMAKE_FIND_PACKAGE_PREFER_CONFIG=ON)
  cmake --preset "$device" "${options[@]}"
}

step_build() {
  local options=(--parallel "$jobs")
  ((${#targets[@]} == 0)) || options+=(--target "${targets[@]}")
  cmake --build "$build" "${options[@]}" -- -k 0
}

step_tests() {
  local label=gpu  # cases of programs that are not built have none
  [[ $device == cuda ]] || label=cuda
  ctest --preset "$device" -L "^$label\$" --output-junit "$results/tests.xml"
}

step_sanitizer() {
  if [[ $device != cuda ]] || ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not on the PATH, or there is no GPU"
    return 77
  fi
  local tool status=0 op cases=
  for op in lstm affine softmax lookup sum matrix_product; do cases+="*OpBatching*$op*:"; done
  for tool in memcheck racecheck synccheck initcheck; do
    echo "== $tool"
    timeout 1200 compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/bin/ops_tests" \
      --gtest_filter="$cases" --device=cuda || status=1
  done
  return $status
}

step_throughput() {
  timeout 7200 "$build/bin/throughput" --device "$device" --seconds "$seconds" --runs 3 \
    --filter '/b(64|256)/.*/fused/auto/t1' --json "$results/throughput.json"
}

step_peers() {
  if [[ $device != cuda ]] ||
    ! "$python" -c 'import numpy, torch; assert torch.cuda.is_available()'; then
    echo "there is no PyTorch with numpy that has a GPU"
    return 77
  fi
  timeout 7200 "$python" bench/peers/run.py --device cuda --build "$build" --python "$python" \
    --json "$results/peers.json"
}

# ----------------------------------------------------------------------------------- the summary

say() { printf '[%5d s] %s\n' "$SECONDS" "$1"; }

quoted() { printf '"%s"' "$(tr -d '\000-\037' <<<"$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"; }

failures=0 lines=()
: >"$results/summary.txt"
# Also after every step, so that nothing is lost if the machine goes away.
record() {
  local step="$1" state="$2" took="$3" why="$4" entries
  printf '%-11s %-8s %6d s  %s\n' "$step" "$state" "$took" "$why" >>"$results/summary.txt"
  lines+=("{\"step\": \"$step\", \"state\": \"$state\", \"seconds\": $took, \"last_line\": $(quoted "$why")}")
  entries="$(printf ',\n  %s' "${lines[@]}")"
  printf '[\n  %s\n]\n' "${entries:4}" >"$results/summary.json"
}

for step in "${steps[@]}"; do
  say "$step begins; its output is in $results/$step.txt"
  begin=$SECONDS
  (step_"$step") >"$results/$step.txt" 2>&1 </dev/null
  status=$?
  state=failed
  ((status != 0)) || state=ok
  ((status != 77)) || state=skipped
  [[ $state != failed ]] || failures=$((failures + 1))
  why=""
  [[ $state == ok ]] || why="$(grep -v '^\s*$' "$results/$step.txt" | tail -n 1 | cut -c1-200)"
  record "$step" "$state" "$((SECONDS - begin))" "$why"
  say "$step: $state${why:+: $why}"
done
echo
cat "$results/summary.txt"
((failures == 0))

#!/usr/bin/env bash
# Tests and measures what scripts/gpu_pack.sh built, on this machine's GPU. Needs no compiler and no
# network. You may stop it at any time, and call it again to continue.
#
# usage: FOLDER/gpu_check.sh [OPTION...]
#   --results DIR   where all results go (default: $OUT if that is set, else FOLDER-results, so that
#                   another copy of FOLDER replaces none)
#   --minutes M     how long this call may take, in minutes; it ends before a step for which too
#                   little time is left (default: 25). If commands are limited to ten minutes, call
#                   it with 9 until it says that all steps are done.
#   --again STEP    repeats this step, even if it is done
#   --device NAME   cuda (default), or cuda-host if that was packed
#   --python PATH   the Python that has PyTorch and numpy (default: python3)
#
# Steps, in this order, and how many minutes each may take:
#   machine      1  GPU, driver, processor, C library, PyTorch
#   smoke        1  every feature of a GPU that the library needs, once; if it fails, nothing else runs
#   constants    4  times of launches, copies, waits and products; products against cuBLAS
#   kernels      3  kernels and a training run against the CPU
#   throughput   9  models of the benchmark, row by row, with predictions; after two updates, the
#                   loss must be that of the CPU. The first row is there after at
#                   most ten minutes
#   ops          9  every op against its bound, and the tests of ops
#   peers        9  the same work in PyTorch; skipped without PyTorch
#   tests        9  more tests of the library, and two examples that train
#   sanitizer    6  compute-sanitizer over some tests of ops; skipped if it is not installed
#
# A step has parts. With the same results, a part that has succeeded or failed is not repeated; one
# that was cut short or skipped is. After each part, the results have:
#   results.tar.gz   everything, far below 16 MiB: copy this file to your machine
#   summary.txt      a line per part: step, part, ok, failed, cut or skipped, seconds, its last line
# and also STEP.PART.txt with its output, and *.json with figures. Exit status: 0 if all steps have
# succeeded, 1 if not, 2 if nothing can run here.
set -uo pipefail

fail() {
  echo "gpu_check.sh: $1" >&2
  exit 2
}

here="$(cd "$(dirname "$0")" && pwd)"
all_steps=(machine smoke constants kernels throughput ops peers tests sanitizer)
declare -A most=([machine]=60 [smoke]=60 [constants]=240 [kernels]=180 [throughput]=540 [ops]=540
  [peers]=540 [tests]=540 [sanitizer]=360)
# With fewer seconds left, a step does not begin.
declare -A least=([machine]=5 [smoke]=10 [constants]=90 [kernels]=30 [throughput]=60 [ops]=120
  [peers]=180 [tests]=90 [sanitizer]=60)
results="${OUT:-$here-results}" minutes=25 again="" device=cuda python=python3
while (($# > 0)); do
  case "$1" in
    -h | --help)
      sed -n '2,35s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --results | --minutes | --again | --device | --python)
      (($# > 1)) || fail "need a value after $1; got nothing"
      case "$1" in
        --results) results="$2" ;;
        --minutes) minutes="$2" ;;
        --again) again="$2" ;;
        --device) device="$2" ;;
        --python) python="$2" ;;
      esac
      shift
      ;;
    *) fail "need an option; got $1 (see --help)" ;;
  esac
  shift
done
[[ $device == cuda || $device == cuda-host ]] || fail "need --device cuda or cuda-host; got $device"
[[ $minutes =~ ^[1-9][0-9]*$ ]] || fail "need a number for --minutes; got $minutes"
[[ -z $again || " ${all_steps[*]} " == *" $again "* ]] ||
  fail "need one of ${all_steps[*]} for --again; got $again"
if [[ $device == cuda ]]; then
  driver="$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
  [[ $driver =~ ^([0-9]+)\. ]] || fail "need a GPU that nvidia-smi shows; got none"
  ((BASH_REMATCH[1] >= 580)) ||
    fail "need a driver of version 580 or later for CUDA 13; got $driver"
fi
[[ -x $here/bin/smoke ]] || fail "need a folder that gpu_pack.sh filled; got no $here/bin/smoke"
mkdir -p "$results" || fail "need a folder for --results; got $results"
results="$(cd "$results" && pwd)"
cd "$here" || exit 2
export PATH="$PATH:/usr/local/cuda/bin"
parts="$results/parts.tsv"  # step, part, state, seconds, last line
touch "$parts"
[[ -z $again ]] || sed -i "/^$again\t/d" "$parts"

# ------------------------------------------------------------------------------- parts and results

write_results() {
  awk -F '\t' '{printf "%-11s%-28s%-9s%5d s  %s\n", $1, $2, $3, $4, $5}' "$parts" >"$results/summary.txt"
  (shopt -s nullglob && cd "$results" && tar -czf new.tar.gz -- *.txt *.tsv *.json &&
    mv new.tar.gz results.tar.gz)
}

finish() {
  write_results
  echo
  cat "$results/summary.txt"
  [[ -n $ended_early ]] || echo "all steps are done"
  echo "results: $(stat -c %s "$results/results.tar.gz") bytes in $results/results.tar.gz"
  [[ -z $ended_early ]] && ! grep -qP '^[^\t]*\t[^\t]*\t(failed|cut)\t' "$parts"
}

stop() {
  local job
  for job in $(jobs -p); do kill "$job"; done
  wait
  echo "stopped; call it again to go on"
  ended_early=yes
  finish
  exit 1
}
trap stop INT TERM

record() {  # STEP PART STATE SECONDS TEXT
  sed -i "/^$1\t$2\t/d" "$parts"
  printf '%s\t%s\t%s\t%d\t%s\n' "$@" >>"$parts"
  write_results
  printf '[%5d s] %s %s: %s\n' "$SECONDS" "$1" "$2" "$3"
}

# part NAME COMMAND...: runs a command, unless the part is done. A command that cannot run here
# returns 77; its last line says why.
part() {
  local name="$1" file="$results/$step.$1.txt" begin=$SECONDS state=failed status
  [[ $name != "$step" ]] || file="$results/$step.txt"
  shift
  ! grep -qP "^$step\t$name\t(ok|failed)\t" "$parts" || return 0
  limit=$((end - SECONDS))
  ((limit > 0)) || { record "$step" "$name" cut 0 "no time was left" && return 1; }
  "$@" >"$file" 2>&1 </dev/null &
  wait $!
  status=$?
  ((status != 0)) || state=ok
  ((status != 77)) || state=skipped
  ((status != 124 && status != 137)) || state="cut"
  # The end of a long output is enough.
  [[ $(stat -c %s "$file") -lt 1000000 ]] ||
    { tail -c 500000 "$file" >"$file.end" && mv "$file.end" "$file"; }
  record "$step" "$name" "$state" $((SECONDS - begin)) \
    "$(grep -v '^\s*$' "$file" | tail -n 1 | tr '\t' ' ' | tr -d '\000-\037' | cut -c1-150)"
  [[ $state == ok ]]
}

# ------------------------------------------------------------------------------------- the steps

# Replaces this process, so that whoever ends it ends the command.
limited() { exec timeout --kill-after=10 "$limit" "$@"; }
# Runs a program of bin/. If the system does not know cuBLAS, uses PyTorch's.
own() {
  local program="$1"
  shift
  limited env ${cublas:+"LD_LIBRARY_PATH=$cublas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"} "bin/$program" "$@"
}
# Runs one of several commands of a part; whoever ends this process ends it.
child() {
  "$@" &
  running=$!
  trap 'kill "$running"' TERM
  wait "$running"
}

find_cublas() {
  ldconfig -p 2>/dev/null | grep -q 'libcublas\.so\.13' && return
  local folders=(/usr/local/cuda/lib64) found
  mapfile -t -O 1 folders < <("$python" -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null)
  found="$(find -L "${folders[@]}" -maxdepth 3 -name libcublas.so.13 2>/dev/null | head -n 1)"
  [[ -z $found ]] || dirname "$found"
}
cublas=""
[[ $device != cuda ]] || cublas="$(find_cublas)"

describe_machine() {
  date -u
  cat packed.txt
  command -v compute-sanitizer || echo "no compute-sanitizer"
  "$python" -c 'import torch; print("PyTorch", torch.__version__, "GPU:", torch.cuda.is_available())' ||
    echo "no PyTorch"
  echo "cuBLAS: ${cublas:-where the loader looks, or nowhere}"
  getconf GNU_LIBC_VERSION
  uname -srm
  lscpu | grep -E '^(Model name|CPU\(s\))'
  [[ $device == cuda ]] || return 0
  nvidia-smi
  nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,pcie.link.gen.max \
    --format=csv,noheader
}

# Several processes: if one dies, only its part of the cases is lost. A rehearsal has time for one
# case in forty.
run_tests() {
  local program="$1" filter="$2" count=4 shards=4 shard status=0 pids=()
  [[ $device == cuda ]] || count=40 shards=1
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$shard own "$program" "--device=$device" \
      "--gtest_filter=$filter" --gtest_brief=1 >"$results/$step.$program.$shard.txt" 2>&1 &
    pids+=($!)
  done
  trap 'kill "${pids[@]}"' TERM
  for shard in "${!pids[@]}"; do
    wait "${pids[shard]}" || status=$?
    grep -E '^\[ +(FAILED|SKIPPED) +\]|error' "$results/$step.$program.$shard.txt" | head -n 50
  done
  awk '/^\[ +[A-Z]+ +\] [0-9]+ test/ {sum[$2] += $4}
    END {print sum["PASSED"] + 0 " passed, " sum["FAILED"] + 0 " failed, " sum["SKIPPED"] + 0 " skipped"}' \
    "$results/$step.$program".[0-9].txt
  return $status
}

test_parts() {  # of the programs whose names match
  local program filter
  while read -r program filter; do
    [[ ! $program =~ $1 ]] || part "$program" run_tests "$program" "$filter"
  done <gpu_tests.txt
}

compare_losses() {  # DEVICE CPU: files of throughput
  local losses
  mapfile -t losses < <(grep -ho '"early_loss": [^,]*' "$1" "$2" | cut -d ' ' -f 2)
  awk -v here="${losses[0]}" -v cpu="${losses[1]}" 'BEGIN {
    difference = here > cpu ? here - cpu : cpu - here
    print "the loss of the third minibatch: " here ", on the CPU " cpu
    exit !(difference <= 1e-5 * (cpu > 0 ? cpu : -cpu))
  }'
}

run_row() {
  local options=(--runs 3 --seconds 2)
  [[ $device == cuda ]] || options=(--seconds 0.01)
  child own throughput --device "$device" --filter "^$1\$" "${options[@]}" \
    --json "${file%.txt}.json" &&
    child own throughput --device cpu --filter "^$1\$" --seconds 0.001 --json "${file%.txt}_cpu.json" &&
    compare_losses "${file%.txt}.json" "${file%.txt}_cpu.json"
}

throughput_parts() {
  local models=(tree_lstm/h64 tree_lstm/h256 tagger/h256 language_model/h256) batches=(64 256)
  [[ $device == cuda ]] || models=(tree_lstm/h64) batches=(64)
  local mode model batch
  for mode in train infer; do
    for batch in "${batches[@]}"; do
      for model in "${models[@]}"; do
        part "${model//\//_}_b${batch}_$mode" run_row "$model/b$batch/$mode/fused/auto/t1"
      done
    done
  done
}

compare_with_torch() {
  if [[ $device != cuda ]] ||
    ! "$python" -c 'import numpy, torch; assert torch.cuda.is_available()'; then
    echo "there is no PyTorch with numpy that has a GPU"
    return 77
  fi
  limited "$python" bench/peers/run.py --device cuda --build "$here" --python "$python" \
    --filter "$1" --rounds 2 --json "${file%.txt}.json"
}

sanitize() {
  if [[ $device != cuda ]] || ! command -v compute-sanitizer >/dev/null; then
    echo "compute-sanitizer is not on the PATH, or there is no GPU"
    return 77
  fi
  local op cases=
  for op in lstm affine softmax lookup sum matrix_product; do cases+="*OpBatching*$op*:"; done
  limited compute-sanitizer --tool "$1" --error-exitcode 1 bin/ops_tests --device=cuda \
    --gtest_brief=1 "--gtest_filter=$cases"
}

run_step() {
  local tool model
  case "$step" in
    machine) part machine describe_machine ;;
    smoke) part smoke own smoke --device "$device" ;;
    constants)
      part constants own constants --device "$device"
      ;;
    kernels) test_parts '^cuda_' ;;
    throughput) throughput_parts ;;
    ops) test_parts '^ops_' ;;
    peers)
      for model in tree_lstm tagger language_model; do
        part "$model" compare_with_torch "$model/h256/b(64|256)/"
      done
      ;;
    tests)
      test_parts '^(train|graph|exec|chains)_'
      export DYNET_LIKE_DEVICE=$device
      part classify_trees own classify_trees
      part tag_words own tag_words
      unset DYNET_LIKE_DEVICE
      ;;
    sanitizer) for tool in memcheck racecheck synccheck initcheck; do part "$tool" sanitize "$tool"; done ;;
  esac
}

ended_early=""
for step in "${all_steps[@]}"; do
  left=$((60 * minutes - SECONDS))
  if ((left < least[$step])); then
    echo "no time is left for $step and what follows; call it again to go on"
    ended_early=yes
    break
  fi
  end=$((SECONDS + (left < most[$step] ? left : most[$step])))
  run_step
  if [[ $step == smoke ]] && ! grep -qP '^smoke\tsmoke\tok\t' "$parts"; then
    echo "nothing else makes sense until smoke succeeds" >&2
    ended_early=yes
    break
  fi
done
finish

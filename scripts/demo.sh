#!/usr/bin/env bash
# Installs missing packages, builds the Tree-LSTM example and runs it. The run takes about a minute
# on two cores; the first build takes a few.
#
# usage: scripts/demo.sh [the example's arguments]
#   scripts/demo.sh                      learns ListOps
#   build/release/bin/tree_lstm --help   lists the arguments, once it is built
# The model and the checkpoint go to build/demo unless --output names another folder.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 0
fi

output=(--output build/demo)
for argument in "$@"; do
  if [[ $argument == --output || $argument == --output=* ]]; then
    output=()
  fi
done

scripts/install_deps.sh
scripts/build.sh release tree_lstm
exec build/release/bin/tree_lstm "$@" ${output[@]+"${output[@]}"}

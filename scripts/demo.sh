#!/usr/bin/env bash
# Installs what is missing, builds the Tree-LSTM example and runs it.
#
# usage: scripts/demo.sh [the example's arguments]
#   scripts/demo.sh                      with its defaults
#   build/release/bin/tree_lstm --help   lists the arguments, once it is built
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 0
fi

scripts/install_deps.sh
scripts/build.sh release tree_lstm
exec build/release/bin/tree_lstm "$@"

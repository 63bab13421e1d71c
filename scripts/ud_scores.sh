#!/usr/bin/env bash
# Compares CoNLL-U with a treebank: the official evaluation of CoNLL's shared task of 2018.
#
# usage: scripts/ud_scores.sh GOLD.conllu SYSTEM.conllu
# The program is part of stanza 1.10.1 (Apache licence), a PyPI package. One file of it is put into
# build/ud_scores, once; after that no network is needed.
set -euo pipefail
if (($# != 2)); then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi
folder="$(cd "$(dirname "$0")/.." && pwd)/build/ud_scores"
program="$folder/conll18_ud_eval.py"
if [[ ! -f $program ]]; then
  mkdir -p "$folder"
  if ! python3 -m pip download --quiet --no-deps --dest "$folder" stanza==1.10.1 >"$folder.log" 2>&1; then
    echo "ud_scores.sh: need stanza 1.10.1 from PyPI; it could not be downloaded" >&2
    exit 1
  fi
  python3 -m zipfile -e "$folder"/stanza-1.10.1-*.whl "$folder/stanza"
  mv "$folder/stanza/stanza/utils/conll18_ud_eval.py" "$program"
  rm -r "$folder/stanza" "$folder"/stanza-1.10.1-*.whl
fi
exec python3 "$program" --verbose "$1" "$2"

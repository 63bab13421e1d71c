#!/usr/bin/env bash
# Trains a pipeline for a moment on a part of a treebank: what it prints about the development data
# must be the official scores. Ends with 77 if the treebank or the evaluation is not there.
#
# usage: pipeline_scores.sh PIPELINE TREEBANK FOLDER
set -euo pipefail
pipeline=$1 gold=$2/en_ewt-ud-dev.conllu folder=$3
mkdir -p "$folder"
[[ -f $gold ]] && scripts/ud_scores.sh "$gold" "$gold" >/dev/null || exit 77
part() { awk -v first="$1" -v last="$2" 'BEGIN { RS = ""; ORS = "\n\n" } NR >= first && NR <= last' "$gold"; }
part 1 600 >"$folder/train.conllu"
part 1601 1750 >"$folder/dev.conllu"
"$pipeline" train --model "$folder/model.safetensors" --train "$folder/train.conllu" \
  --dev "$folder/dev.conllu" --epochs 1 --segmenter-epochs 6 --hidden 32 --layers 1 |
  tee "$folder/training"
awk 'BEGIN { RS = ""; FS = "\n" } {
  begins = 0
  for (i = 1; i <= NF; i++) {
    if ($i ~ /^# new(par|doc)/) begins = 1
    if ($i ~ /^# text = /) text = substr($i, 10)
  }
  printf "%s%s", NR == 1 ? "" : begins ? "\n\n" : spaces, text
  spaces = $NF ~ /SpaceAfter=No/ ? "" : " "
}' "$folder/dev.conllu" >"$folder/dev.txt"
"$pipeline" apply --model "$folder/model.safetensors" "$folder/dev.txt" >"$folder/found.conllu"
official=$(scripts/ud_scores.sh "$folder/dev.conllu" "$folder/found.conllu" | awk '
  { f1[$1] = $7 }
  END { printf "dev F1: tokens %s %%, words %s %%, sentences %s %%", f1["Tokens"], f1["Words"], f1["Sentences"] }')
if ! grep -qxF "$official" "$folder/training"; then
  echo "pipeline_scores.sh: need the official scores, \"$official\", behind the training" >&2
  exit 1
fi

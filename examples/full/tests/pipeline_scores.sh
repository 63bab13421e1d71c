#!/usr/bin/env bash
# Trains a pipeline on a part of a treebank, and compares what it makes of raw text by the official
# evaluation. Ends with 77 if the treebank or the evaluation is not there.
#
# usage: pipeline_scores.sh PIPELINE TREEBANK FOLDER
set -euo pipefail
pipeline=$1 gold=$2/en_ewt-ud-dev.conllu folder=$3
mkdir -p "$folder"
[[ -f $gold ]] && scripts/ud_scores.sh "$gold" "$gold" >/dev/null || exit 77
part() { awk -v first="$1" -v last="$2" 'BEGIN { RS = ""; ORS = "\n\n" } NR >= first && NR <= last' "$gold"; }
part 1 1600 >"$folder/train.conllu"
part 1601 1800 >"$folder/dev.conllu"
part 1801 2001 >"$folder/test.conllu"
"$pipeline" train --model "$folder/model.safetensors" --train "$folder/train.conllu" \
  --dev "$folder/dev.conllu" --epochs 4 --segmenter-epochs 12 --hidden 64 --layers 1 |
  tee "$folder/training"
# What training prints are the official scores of the text of the development data.
awk 'BEGIN { RS = ""; FS = "\n" } {
  begins = 0
  for (i = 1; i <= NF; i++) {
    if ($i ~ /^# new(par|doc)/) begins = 1
    if ($i ~ /^# text = /) text = substr($i, 10)
  }
  printf "%s%s", NR == 1 ? "" : begins ? "\n\n" : spaces, text
  spaces = $NF ~ /SpaceAfter=No/ ? "" : " "
}' "$folder/dev.conllu" >"$folder/dev.txt"
"$pipeline" apply --model "$folder/model.safetensors" "$folder/dev.txt" >"$folder/dev_found.conllu"
official=$(scripts/ud_scores.sh "$folder/dev.conllu" "$folder/dev_found.conllu" | awk '
  { f1[$1] = $7 }
  END { printf "dev F1: tokens %s %%, words %s %%, sentences %s %%", f1["Tokens"], f1["Words"], f1["Sentences"] }')
if ! grep -qxF "$official" "$folder/training"; then
  echo "pipeline_scores.sh: need the official scores, \"$official\", behind the training" >&2
  exit 1
fi
# The sentences, one a line: an approximation of the text, which the evaluation does not mind.
sed -n 's/^# text = //p' "$folder/test.conllu" >"$folder/test.txt"
"$pipeline" apply --model "$folder/model.safetensors" "$folder/test.txt" >"$folder/found.conllu"
scripts/ud_scores.sh "$folder/test.conllu" "$folder/found.conllu" | tee "$folder/scores"
# least METRIC VALUE: the F1 must be at least that.
least() { awk -v name="$1" -v least="$2" '$1 == name && $7 < least { exit 1 }' "$folder/scores"; }
least Tokens 90 && least UPOS 65 && least LAS 30

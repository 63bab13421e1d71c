#!/usr/bin/env bash
# Checks that the C++ sources are formatted with clang-format.
#
# usage: scripts/format.sh [--fix]
#   --fix   formats them instead
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "") options=(--dry-run --Werror) ;;
  --fix) options=(-i) ;;
  -h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  *)
    echo "format.sh: need --fix or nothing; got $1" >&2
    exit 2
    ;;
esac

# Files that Git knows or would add. It lists deleted files until they are committed.
files=()
while IFS= read -r -d '' file; do
  if [[ -f $file ]]; then
    files+=("$file")
  fi
done < <(git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu')

if ((${#files[@]} > 0)); then
  clang-format "${options[@]}" "${files[@]}"
fi

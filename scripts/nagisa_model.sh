#!/usr/bin/env bash
# Downloads the model of nagisa, a tagger for Japanese that was trained with DyNet, for
# examples/full/dynet_japanese_tagger.
#
# usage: scripts/nagisa_model.sh [FOLDER]
# Installs the package from PyPI into build/python. Writes the model, its dictionary as text, and
# lines of Japanese manual pages from Debian's package manpages-ja to FOLDER (default: build/nagisa).
# Does nothing if these files exist.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 0
fi
folder=$(realpath -m "${1:-$(dirname "$0")/../build/nagisa}")
cd "$(dirname "$0")/.."
version=0.3.0
scripts/python_env.sh "nagisa==$version"
[[ $(cat "$folder/complete" 2>/dev/null) == "$version" ]] && exit 0
mkdir -p "$folder"
build/python/bin/python scripts/nagisa_dictionary.py "$folder"

# Converts to text: drops lines with commands, and keeps only lines with Japanese characters.
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
if ! (cd "$packages" && apt-get -qq download manpages-ja && dpkg-deb -x manpages-ja_*.deb .); then
  echo "nagisa_model.sh: need Debian's package manpages-ja; apt-get could not download it" >&2
  exit 1
fi
find "$packages/usr/share/man/ja" -name '*.gz' | LC_ALL=C sort | xargs zcat |
  LC_ALL=C.UTF-8 grep -v "^[.']" | LC_ALL=C.UTF-8 grep -P '[\x{3040}-\x{30ff}\x{4e00}-\x{9fa5}]' \
    >"$folder/manual_pages.txt"
echo "$version" >"$folder/complete"

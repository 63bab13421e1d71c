"""Writes the model of the installed package nagisa, and its dictionary as text, to a folder.

usage: nagisa_dictionary.py FOLDER
Also writes properties of characters, from this Python's unicodedata, since the dictionary has
normal forms.
"""
import gzip
import importlib.util
import pathlib
import pickle
import shutil
import sys
import unicodedata


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for key, numbers in lines:
            if "\t" in key or "\n" in key:
                raise ValueError(f"need keys without tabs and ends of lines; got {key!r}")
            file.write(f"{key}\t{numbers}\n")


def properties():
    """Input of characters.h: a property, and the code points that have it."""
    characters = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    for c in characters:
        whole = unicodedata.normalize("NFKD", c)
        if whole != c:
            yield "decomposes", c + whole
        if unicodedata.combining(c):
            yield "class", c + chr(unicodedata.combining(c))
        parts = unicodedata.normalize("NFD", c)
        if len(parts) > 1 and unicodedata.normalize("NFC", c) == c:
            yield "composes", unicodedata.normalize("NFC", parts[:-1]) + parts[-1] + c
        if c.lower() != c and len(c.lower()) == 1:
            yield "lower", c + c.lower()
        if c.isspace():
            yield "space", c
    first = last = None
    for c in characters:
        if not c.isalnum():
            continue
        if last is None or ord(c) != ord(last) + 1:
            if last is not None:
                yield "alphanumeric", first + last
            first = c
        last = c
    yield "alphanumeric", first + last


def main():
    folder = pathlib.Path(sys.argv[1])
    package = pathlib.Path(importlib.util.find_spec("nagisa").origin).parent / "data"
    with gzip.open(package / "nagisa_v001.dict") as file:
        *ids, tags_of_words = pickle.load(file)
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in zip(["unigrams", "bigrams", "words", "tags"], ids, strict=True):
        write(folder / f"{name}.tsv", entries.items())
    write(folder / "tags_of_words.tsv",
          ((word, " ".join(map(str, sorted(set(tags))))) for word, tags in tags_of_words.items()))
    write(folder / "characters.tsv",
          ((name, " ".join(f"{ord(c):X}" for c in all_of_it)) for name, all_of_it in properties()))
    shutil.copyfile(package / "nagisa_v001.model", folder / "nagisa.model")


main()

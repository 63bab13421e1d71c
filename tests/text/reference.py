# Encodes texts by Hugging Face's library, for tests that compare with it.
#
# usage: reference.py TOKENIZER TEXTS RESULT [pairs | words]
# TEXTS has JSON strings, one a line. RESULT gets a line for each: for every piece, its id, segment, text,
# word and characters, separated by commas. With `pairs`, two lines make a pair; with `words`, a line
# is split at spaces before it is encoded.
import json
import sys

from tokenizers import Tokenizer


def show(encoding):
    columns = zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, encoding.word_ids,
                  encoding.offsets)
    return " ".join(f"{id},{segment},{-1 if text is None else text},{-1 if word is None else word},"
                    f"{place[0]},{place[1]}" for id, segment, text, word, place in columns)


def main():
    path, texts_path, result_path, *mode = sys.argv[1:]
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with open(texts_path, encoding="utf-8") as file:
        texts = [json.loads(line) for line in file]
    if mode == ["pairs"]:
        inputs = list(zip(texts[::2], texts[1::2]))
    elif mode == ["words"]:
        inputs = [text.split(" ") for text in texts]
    else:
        inputs = texts
    with open(result_path, "w", encoding="utf-8") as file:
        for begin in range(0, len(inputs), 1000):
            for encoding in tokenizer.encode_batch(inputs[begin:begin + 1000],
                                                   is_pretokenized=mode == ["words"]):
                file.write(show(encoding) + "\n")


if __name__ == "__main__":
    main()

# Encodes texts by Hugging Face's library, for tests that compare with it.
#
# usage: reference.py TOKENIZER TEXTS...
# TEXTS has JSON strings, one a line. TEXTS.texts gets a line for each: for every piece, its id, segment,
# text, word and characters, separated by commas. TEXTS.decoded gets the text that these pieces are
# decoded to, without special tokens and with them. TEXTS.pairs has the pieces of each two lines, as a
# pair, and TEXTS.words for each line that is split at spaces before. These two have the first 100,000
# texts only.
import json
import sys

from tokenizers import Tokenizer


def show(encoding):
    columns = zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, encoding.word_ids,
                  encoding.offsets)
    return " ".join(f"{id},{segment},{-1 if text is None else text},{-1 if word is None else word},"
                    f"{place[0]},{place[1]}" for id, segment, text, word, place in columns)


def main():
    tokenizer = Tokenizer.from_file(sys.argv[1])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            texts = [json.loads(line) for line in file]
        some = texts[:100000]
        inputs = {"texts": texts, "pairs": list(zip(some[::2], some[1::2])),
                  "words": [text.split(" ") for text in some]}
        with open(f"{path}.decoded", "w", encoding="utf-8") as file:
            for encoding in tokenizer.encode_batch(texts):
                both = [tokenizer.decode(encoding.ids, skip_special_tokens=skips) for skips in (True, False)]
                file.write(json.dumps(both) + "\n")
        for kind, values in inputs.items():
            with open(f"{path}.{kind}", "w", encoding="utf-8") as file:
                for begin in range(0, len(values), 1000):
                    part = values[begin:begin + 1000]
                    for encoding in tokenizer.encode_batch(part, is_pretokenized=kind == "words"):
                        file.write(show(encoding) + "\n")


if __name__ == "__main__":
    main()

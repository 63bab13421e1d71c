# Texts of many languages and random strings, for tests of tokenizers.
#
# usage: texts.py FILE TEXTS RANDOM [SEED]
# Writes TEXTS lines of the messages that programs of this machine show, from /usr/share/locale, in
# turn by language, and RANDOM random strings, all as JSON strings, one a line.
import gettext
import glob
import json
import random
import sys
import unicodedata


def lines_of(paths):
    """Lines of catalogues, each once."""
    seen = set()
    for path in paths:
        try:
            with open(path, "rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog
        except (OSError, ValueError, IndexError):
            continue
        for text in catalogue.values():
            for line in text.split("\n") if isinstance(text, str) else ():
                if line and line not in seen:
                    seen.add(line)
                    yield line


def some_messages(count):
    paths = {}
    for path in sorted(glob.glob("/usr/share/locale/*/LC_MESSAGES/*.mo")):
        paths.setdefault(path.split("/")[4], []).append(path)
    languages = [lines_of(of_language) for of_language in paths.values()]
    result = []
    while len(result) < count and languages:
        lines = [(next(language, None), language) for language in languages]
        languages = [language for line, language in lines if line is not None]
        result += [line for line, _ in lines if line is not None]
    return result[:count]


# Characters that tokenizers treat in ways of their own.
SPECIAL = ("  \t\n\r\u00a0\u3000\u2028\u0085\u1680\u200b\u200d\u200c\ufeff\u00ad\x00\x01\x7f\ufffd'’.,;:!?-_$^`~()[]"
           "0123456789٣५²½Ⅷ🂡👩👍🏽🇩🇪ﬁﷺ①ª日本語中國韓국한글각ｶﾞがが\u3099İıẞßΣσςﬃǅéñ\u0301\u0300\u0323\u0344\u0f73▁##<>sabctmdrevl")
TOKENS = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "<s>", "</s>", "<mask>", "<unk>", "<pad>", "[unused1]",
          "|||IP_ADDRESS|||", "   ", "'s", "'ll", " 've", "▁▁", "##a", "\r\n", "<0x0A>"]


def is_old(code):
    """Whether all versions of Unicode agree on a code point: libraries know different ones."""
    category = unicodedata.ucd_3_2_0.category(chr(code))
    if category == "Cn":
        return 0x40000 <= code < 0xE0000
    return category != "Cs" and code not in (0x166D, 0x1734, 0x1885, 0x1886)


def random_text(numbers):
    kind = numbers.randrange(4)
    size = int(numbers.expovariate(1 / 12)) + 1
    if kind == 0:  # random bytes, of which those count that are UTF-8
        text = numbers.randbytes(3 * size).decode("utf-8", "ignore")
        return "".join(filter(lambda c: is_old(ord(c)), text))
    parts = []
    for _ in range(size):
        choice = numbers.randrange(10)
        if choice == 0:
            parts.append(numbers.choice(TOKENS))
        elif choice < 5 or kind == 1:
            parts.append(numbers.choice(SPECIAL))
        elif choice < 7:
            parts.append(numbers.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ "))
        else:
            code = numbers.randrange(0x3000 if kind == 2 else 0x110000)
            parts.append(chr(code) if is_old(code) else " ")
    return "".join(parts)


def main():
    path, texts, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    with open(path, "w", encoding="utf-8") as file:
        for text in some_messages(texts) + [random_text(numbers) for _ in range(count)]:
            file.write(json.dumps(text) + "\n")


if __name__ == "__main__":
    main()

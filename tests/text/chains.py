# Random chains of components, and results of Hugging Face's library, for tests that compare with it.
#
# usage: chains.py FILE COUNT
# Writes at most COUNT lines of JSON: a tokenizer with a piece for each byte, texts, their pieces as reference.py
# shows them, and what these are decoded to.
import json
import random
import sys

from reference import show
from tokenizers import Tokenizer


def part(kind, **options):
    return dict(type=kind, **options)


NORMALIZERS = [
    part("Lowercase"), part("NFC"), part("NFKD"), part("Nmt"), part("ByteLevel"),
    part("Strip", strip_left=True, strip_right=True), part("Prepend", prepend="▁"),
    part("Replace", pattern={"Regex": "\\s+"}, content=" "),
    part("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)]
PRE_TOKENIZERS = [
    part("BertPreTokenizer"), part("Whitespace"), part("WhitespaceSplit"),
    part("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    part("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True),
    part("Metaspace", replacement="▁", prepend_scheme="always", split=True),
    part("Metaspace", replacement="▁", prepend_scheme="first", split=True),
    part("Digits", individual_digits=False), part("Punctuation", behavior="MergedWithPrevious"),
    part("Split", pattern={"Regex": "[aeiou ]+"}, behavior="MergedWithNext", invert=False),
    part("Split", pattern={"String": " "}, behavior="Contiguous", invert=True)]
POST_PROCESSORS = [
    None, part("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    part("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)]
DECODERS = [
    part("ByteFallback"), part("ByteFallback"), part("Fuse"), part("WordPiece", prefix="<0x6", cleanup=True),
    part("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
    part("Metaspace", replacement="▁", prepend_scheme="always", split=True),
    part("Metaspace", replacement="▁", prepend_scheme="never", split=True),
    part("CTC", pad_token="<0x62>", word_delimiter_token="c", cleanup=True),
    part("Strip", content="<", start=1, stop=0), part("Replace", pattern={"String": "▁"}, content=" "),
    part("Replace", pattern={"Regex": "[0-9]+|>?"}, content="-")]
WORDS = ["a", "b", "ab", "A", "<m>", " ", "  ", "é", "e\u0301", "x1", "-", "日", "\u3000", "cat", "Cat", "s'",
         "\n", "½", "_", "ﬁ"]


def chain(numbers, parts, key):
    return part("Sequence", **{key: [numbers.choice(parts) for _ in range(numbers.randrange(4))]})


def tokenizer(numbers):
    added = []
    for content in numbers.sample(WORDS, numbers.randrange(7)):
        flags = {name: numbers.random() < 0.3 for name in ("single_word", "lstrip", "rstrip")}
        # The library does not end if a normalizer strips all of a token.
        normalized = not content.isspace() and numbers.random() < 0.5
        added.append(dict(id=256 + len(added), content=content, special=False, normalized=normalized, **flags))
    model = part("BPE", byte_fallback=True, merges=[], vocab={f"<0x{byte:02X}>": byte for byte in range(256)})
    return json.dumps(dict(
        version="1.0", added_tokens=added, normalizer=chain(numbers, NORMALIZERS, "normalizers"),
        pre_tokenizer=chain(numbers, PRE_TOKENIZERS, "pretokenizers"),
        post_processor=numbers.choice(POST_PROCESSORS), decoder=chain(numbers, DECODERS, "decoders"),
        model=model))


def has_equal_tokens(reference):
    """Whether added tokens are equal once they are normalised: chance decides which of them is found."""
    tokens = [token.content for token in reference.get_added_tokens_decoder().values() if token.normalized]
    texts = [reference.normalizer.normalize_str(token) for token in tokens]
    return len(set(texts)) < len(texts)


def main():
    numbers = random.Random(1)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for _ in range(int(sys.argv[2])):
            description, texts, results, decoded = tokenizer(numbers), [], [], []
            reference = Tokenizer.from_str(description)
            if has_equal_tokens(reference):
                continue
            for _ in range(30):
                text = "".join(numbers.choice(WORDS + ["c", "d", "!"]) for _ in range(numbers.randrange(10)))
                try:
                    encoding = reference.encode(text)
                    decoded.append(reference.decode(encoding.ids))
                    results.append(show(encoding))
                except BaseException as error:  # a panic: the library does not take all chains
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    continue
                texts.append(text)
            file.write(json.dumps(dict(tokenizer=description, texts=texts, results=results, decoded=decoded)) + "\n")


if __name__ == "__main__":
    main()

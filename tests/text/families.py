# Trains small tokenizers, configured as those of published models, for tests that compare with them.
#
# usage: families.py FOLDER TEXTS
# Writes FOLDER/FAMILY.json for each family. TEXTS is a file of texts.py.
import io
import json
import sys

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import processors, trainers

# The published vocabularies have 30,000 to 250,000 pieces.
PIECES = 4000


def charsmap(lines):
    """The normalisation table nmt_nfkc of SentencePiece, from a model that it trains."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines[:200]), model_writer=model, vocab_size=300, hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc", minloglevel=2)
    return field(field(model.getvalue(), 3), 2)  # normalizer_spec.precompiled_charsmap


def field(message, number):
    """The bytes of a field of a protocol buffer message that has no fields of fixed size before it."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            if key >> 3 == number:
                return message[at:at + size]
            at += size
        elif key & 7 == 5:
            at += 4
        else:
            varint()
    raise ValueError(f"no field {number}")


def template(tokenizer, cls, sep, pair=None, second=1):
    ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    pair = pair or f"{cls} $A {sep} $B:{second} {sep}:{second}"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", pair=pair, special_tokens=ids)


def bert(lines, lowercase=True):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=PIECES, special_tokens=special, show_progress=False))
    template(tokenizer, "[CLS]", "[SEP]")
    return tokenizer


def roberta(lines):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=PIECES, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return tokenizer


def modernbert(lines):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=PIECES, show_progress=False, special_tokens=["<|padding|>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    tokenizer.add_tokens([AddedToken("|||IP_ADDRESS|||", normalized=True)])
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]"])
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True, normalized=False)])
    tokenizer.add_tokens([f"[unused{n}]" for n in range(4)])
    template(tokenizer, "[CLS]", "[SEP]", "[CLS] $A [SEP] $B [SEP]")
    return tokenizer


def unigram(lines, normalizer, pre_tokenizer, special, unk):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(lines, trainers.UnigramTrainer(
        vocab_size=PIECES, special_tokens=special, unk_token=unk, show_progress=False))
    return tokenizer


def xlm_roberta(lines, table, old=False):
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always")
    if old:
        metaspace = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    tokenizer = unigram(lines, normalizers.Precompiled(table), metaspace, special, "<unk>")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    template(tokenizer, "<s>", "</s>", "<s> $A </s> </s> $B </s>")
    return tokenizer


def deberta_v3(lines, table):
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Precompiled(table),
                                       normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer = unigram(lines, normalizer, pre_tokenizers.Metaspace(prepend_scheme="always"),
                        special, "[UNK]")
    tokenizer.add_special_tokens(["[MASK]"])
    template(tokenizer, "[CLS]", "[SEP]")
    return tokenizer


def cl100k(lines):
    """As Llama 3 and others: a regular expression of their own, and words that are pieces."""
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
               r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=PIECES, show_progress=False, special_tokens=["<|begin|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B:1",
                                      special_tokens=[("<|begin|>", 0)])])
    return tokenizer


def llama(lines):
    """As Llama 2: bytes for unknown characters, and spaces by the normalizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=PIECES, show_progress=False, limit_alphabet=200,
        special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]))
    return tokenizer


def main():
    folder, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    table = charsmap(lines)
    families = {
        "bert": bert(lines), "bert_cased": bert(lines, lowercase=False), "roberta": roberta(lines),
        "modernbert": modernbert(lines), "xlm_roberta": xlm_roberta(lines, table),
        "xlm_roberta_old": xlm_roberta(lines, table, old=True),
        "deberta_v3": deberta_v3(lines, table), "cl100k": cl100k(lines), "llama": llama(lines)}
    metaspace = decoders.Metaspace(prepend_scheme="always")
    for name in ("xlm_roberta", "xlm_roberta_old", "deberta_v3"):
        families[name].decoder = metaspace
    for name in ("bert", "bert_cased"):
        families[name].decoder = decoders.WordPiece(prefix="##")
    for name in ("roberta", "modernbert", "cl100k"):
        families[name].decoder = decoders.ByteLevel()
    families["llama"].decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    for name, tokenizer in families.items():
        tokenizer.save(f"{folder}/{name}.json")


if __name__ == "__main__":
    main()

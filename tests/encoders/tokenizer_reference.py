"""Folders of tokenizers with random settings, and the ids of transformers' AutoTokenizer.

tokenizer_reference.py COUNT   writes 0/, 1/ and so on, and expected.txt: a line of ids for each text of texts.txt
                               in each folder, or the line "error"
"""
import json
import os
import random
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.simplefilter("ignore")

from transformers import AutoTokenizer

TEXTS = ["A Cat", "the cats [SEP] á", "a中 <new>b", "cat<NEW> <mask>", " b <s>a </s>", "", "Ab[MASK] <pad>"]
SPECIAL = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)


def tokens(contents, vocab):
    return [dict(id=vocab.index(content), content=content, **SPECIAL) for content in contents]


def bert(lowercase):
    vocab = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat ##s the A Cat á b ##b a中 < new > <new> ##T".split()
    return vocab, {
        "version": "1.0", "truncation": None, "padding": None, "decoder": None,
        "added_tokens": tokens(vocab[:5], vocab),
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {piece: i for i, piece in enumerate(vocab)}}}


def roberta(prefix):
    pieces = sorted({chr(c) for c in range(33, 127)} | {chr(c) for c in range(161, 324) if c != 173})
    vocab = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] + pieces + ["Ġa", "Ġb", "at", "Ġc"]
    merges = ["Ġ a", "Ġ b", "a t", "Ġ c"]
    return vocab, merges, {
        "version": "1.0", "truncation": None, "padding": None, "decoder": None, "normalizer": None,
        "added_tokens": tokens(vocab[:5], vocab),
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True},
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True,
                           "add_prefix_space": prefix},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "vocab": {piece: i for i, piece in enumerate(vocab)},
                  "merges": merges}}


def settings(kind, size):
    """The contents of the three files, or None."""
    config = {}
    flags = {"bert": ["do_lower_case", "strip_accents", "tokenize_chinese_chars"],
             "roberta": ["add_prefix_space", "trim_offsets"]}[kind]
    for flag in flags:
        if random.random() < 0.5:
            config[flag] = random.choice([True, False] + ([None] if flag == "strip_accents" else []))
    if random.random() < 0.3:
        config["tokenizer_class"] = random.choice(["PreTrainedTokenizerFast", kind.capitalize() + "Tokenizer",
                                                   kind.capitalize() + "TokenizerFast"])
    new = random.choice(["<new>", "[NEW]", "b", "cat"])
    options = {key: random.random() < 0.3 for key in ("single_word", "lstrip", "rstrip", "normalized", "special")}
    how = random.randrange(5)
    added = special = None
    if how == 1:
        config["added_tokens_decoder"] = {str(size(new)): {"content": new, **options}}
    if how == 2:
        added = {new: size(new)}
    if how == 3:
        config["additional_special_tokens"] = [new]
    if random.random() < 0.3:
        special = {"mask_token": {"bert": "[MASK]", "roberta": "<mask>"}[kind]}
        if random.random() < 0.5:
            special["mask_token"] = {"content": special["mask_token"], **{k: options[k] for k in options if k != "special"}}
        if random.random() < 0.5:
            special["additional_special_tokens"] = [new]
    return config, added, special


def write(i):
    kind = random.choice(["bert", "roberta"])
    vocab, *merges, tokenizer = {"bert": bert, "roberta": roberta}[kind](random.random() < 0.5)
    size = lambda piece: vocab.index(piece) if piece in vocab else len(vocab)
    config, added, special = settings(kind, size)
    os.makedirs(str(i))

    def dump(name, contents):
        if contents is not None:
            with open(f"{i}/{name}", "w", encoding="utf-8") as file:
                file.write(contents if isinstance(contents, str) else json.dumps(contents))

    dump("config.json", {"model_type": random.choice({"bert": ["bert", "electra", "distilbert"],
                                                      "roberta": ["roberta"]}[kind])})
    dump("tokenizer_config.json", config)
    dump("added_tokens.json", added)
    dump("special_tokens_map.json", special)
    if random.random() < 0.6:
        dump("tokenizer.json", tokenizer)
    elif kind == "bert":
        config.pop("tokenizer_class", None)
        dump("tokenizer_config.json", config)
        dump("vocab.txt", "\n".join(vocab) + "\n")
    else:
        config.pop("tokenizer_class", None)
        dump("tokenizer_config.json", config)
        dump("vocab.json", {piece: i for i, piece in enumerate(vocab)})
        dump("merges.txt", "#version: 0.2\n" + "\n".join(merges[0]) + "\n")


random.seed(7)
with open("texts.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(TEXTS) + "\n")
with open("expected.txt", "w") as file:
    for i in range(int(sys.argv[1])):
        write(i)
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(i))
            for text in TEXTS:
                file.write(" ".join(map(str, tokenizer(text)["input_ids"])) + "\n")
        except Exception as error:
            print(i, type(error), error)
            file.write("error\n" * len(TEXTS))

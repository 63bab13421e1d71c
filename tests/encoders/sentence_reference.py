"""What Sentence Transformers computes for folders with modules.json.

sentence_reference.py make CONFIGS   writes FOLDER/ and its expected vectors for every line of CONFIGS
sentence_reference.py check FOLDER... compares FOLDER-saved/ with what make wrote
"""
import json
import os
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.simplefilter("ignore")

import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

TEXTS = ["a", "A cat sat", "the cats sat on the mat the cat", "", "cat " * 7]
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a cat ##s sat on the mat query : A".split()


def make(name, modules, settings):
    """A BERT with these modules, [type, config, weights] each, behind it."""
    torch.manual_seed(len(name))
    config = transformers.BertConfig(vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=6, max_position_embeddings=20)
    model = transformers.BertModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    model.save_pretrained(name)
    with open(f"{name}/vocab.txt", "w") as file:
        file.write("\n".join(WORDS) + "\n")
    for file, contents in settings.items():
        with open(f"{name}/{file}", "w") as stream:
            json.dump(contents, stream)
    transformers.AutoTokenizer.from_pretrained(name).save_pretrained(name)
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for i, (kind, own, shapes) in enumerate(modules, 1):
        path = f"{i}_{kind}"
        listed.append({"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind})
        os.makedirs(f"{name}/{path}")
        with open(f"{name}/{path}/config.json", "w") as file:
            json.dump(own, file)
        if shapes:
            save_file({key: torch.randn(shape) for key, shape in shapes.items()}, f"{name}/{path}/model.safetensors")
    with open(f"{name}/modules.json", "w") as file:
        json.dump(listed, file)
    save_file(expected(name), name + ".safetensors")


def expected(folder):
    model = SentenceTransformer(folder, device="cpu")
    return {str(i): torch.tensor(model.encode(text)).float() for i, text in enumerate(TEXTS)}


def check(folder):
    wanted = load_file(folder + ".safetensors")
    for key, vector in expected(folder + "-saved").items():
        worst = (vector - wanted[key]).abs().max().item()
        assert worst < 1e-5, (folder, key, worst)


if sys.argv[1] == "make":
    with open(sys.argv[2]) as lines:
        for line in lines:
            make(**json.loads(line))
else:
    for folder in sys.argv[2:]:
        check(folder)

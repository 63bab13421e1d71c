"""Small random models of Hugging Face's transformers, and what they compute.

reference.py make FAMILY...   writes FAMILY/, a model, and FAMILY.safetensors: ids, outputs, gradients
reference.py check FAMILY...  compares the model in FAMILY-saved/ with FAMILY.safetensors
reference.py given MODEL CONLLU  writes given.safetensors: the same of a model, for 100 sentences
"""
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

SIZES = dict(vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
             intermediate_size=40, max_position_embeddings=40)
LENGTHS = [1, 2, 7, 12, 30]


def configs():
    t = transformers
    return {
        "bert": t.BertConfig(**SIZES, hidden_act="gelu_new"),
        "roberta": t.RobertaConfig(**SIZES, type_vocab_size=1, layer_norm_eps=1e-5),
        "xlm-roberta": t.XLMRobertaConfig(**SIZES, type_vocab_size=1, layer_norm_eps=1e-5),
        "ernie": t.ErnieConfig(**SIZES),
        "camembert": t.CamembertConfig(**SIZES, type_vocab_size=1),
        "data2vec-text": t.Data2VecTextConfig(**SIZES, type_vocab_size=1),
        "mpnet": t.MPNetConfig(**SIZES),
        "distilbert": t.DistilBertConfig(vocab_size=50, dim=32, n_layers=3, n_heads=4, hidden_dim=40,
                                         max_position_embeddings=40, activation="relu"),
        "electra": t.ElectraConfig(**SIZES, embedding_size=16),
        "modernbert": t.ModernBertConfig(**{**SIZES, "num_hidden_layers": 4}, local_attention=6, pad_token_id=0,
                                         cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2),
        "deberta-v2": t.DebertaV2Config(**SIZES, relative_attention=True, position_buckets=8,
                                        max_relative_positions=-1, position_biased_input=False,
                                        pos_att_type=["p2c", "c2p"], share_att_key=True,
                                        norm_rel_ebd="layer_norm"),
    }


def outputs_of(model, ids):
    return model(input_ids=ids[None], output_hidden_states=True)


def make(family):
    config = configs()[family]
    config._attn_implementation = "eager"
    for name in vars(config):
        if "dropout" in name and isinstance(getattr(config, name), float):
            setattr(config, name, 0.0)
    torch.manual_seed(1 + len(family))
    model = transformers.AutoModel.from_config(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_gain = "norm" in name.lower() and name.endswith("weight")
            parameter.normal_(1 if is_gain else 0, 0.2).copy_(parameter.float())
    model.float().save_pretrained(family)
    sentences = [torch.randint(3, 50, (length,)) for length in LENGTHS]
    sentences[2][3] = config.pad_token_id  # written in a text
    write(model.double(), sentences, family, True)


def write(model, sentences, name, with_layers):
    expected, loss = {}, 0
    for i, ids in enumerate(sentences):
        output = outputs_of(model, ids)
        weights = torch.randn(len(ids), model.config.hidden_size)
        loss = loss + (output.last_hidden_state[0] * weights).sum()
        expected[f"ids.{i}"] = ids
        expected[f"weights.{i}"] = weights
        for k, layer in enumerate(output.hidden_states[:-1] if with_layers else []):
            expected[f"layer.{i}.{k}"] = layer[0]
        expected[f"output.{i}"] = output.last_hidden_state[0]
    loss.backward()
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            expected["gradient." + key] = parameter.grad
    save_file({key: tensor.detach().float().contiguous().clone() for key, tensor in expected.items()},
              name + ".safetensors")


def given(folder, conllu):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with open(conllu, encoding="utf-8") as lines:
        texts = [line[len("# text = "):].strip() for line in lines if line.startswith("# text = ")]
    torch.manual_seed(1)
    model = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).double().eval()
    write(model, [torch.tensor(tokenizer.encode(text).ids) for text in texts[:100]], "given", False)


def check(family):
    expected = load_file(family + ".safetensors")
    model, info = transformers.AutoModel.from_pretrained(family + "-saved", output_loading_info=True)
    missing = [name for name in info["missing_keys"] if "pooler" not in name]
    assert not missing and not info["unexpected_keys"], info
    assert model.config.model_type == family
    for i in range(len(LENGTHS)):
        with torch.no_grad():
            output = outputs_of(model.eval(), expected[f"ids.{i}"].long()).last_hidden_state[0]
        worst = (output - expected[f"output.{i}"]).abs().max().item()
        assert worst < 1e-4, (family, i, worst)


if sys.argv[1] == "given":
    given(*sys.argv[2:])
else:
    for family in sys.argv[2:]:
        {"make": make, "check": check}[sys.argv[1]](family)

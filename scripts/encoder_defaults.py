#!/usr/bin/env python3
"""Prints what the keys of a config.json mean where they are absent, by transformers' classes.

usage: build/python_torch/bin/python scripts/encoder_defaults.py > tests/encoders/defaults.json
Needs scripts/python_torch.sh. A test compares the families of nn/encoders with that file.
"""
import json

import transformers as t

FAMILIES = {
    "bert": t.BertConfig, "ernie": t.ErnieConfig, "roberta": t.RobertaConfig,
    "xlm-roberta": t.XLMRobertaConfig, "camembert": t.CamembertConfig,
    "data2vec-text": t.Data2VecTextConfig, "distilbert": t.DistilBertConfig,
    "electra": t.ElectraConfig, "modernbert": t.ModernBertConfig, "mpnet": t.MPNetConfig,
    "deberta-v2": t.DebertaV2Config,
}
LEFT_OUT = {"id2label", "label2id", "transformers_version"}

table = {name: {key: value for key, value in family().to_dict().items() if key not in LEFT_OUT}
         for name, family in FAMILIES.items()}
lines = (f"{json.dumps(name)}: {json.dumps(keys, sort_keys=True)}" for name, keys in table.items())
print("{" + ",\n".join(lines) + "}")

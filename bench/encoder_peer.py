#!/usr/bin/env python3
"""Times PyTorch, ONNX Runtime and CTranslate2 beside bench/encoder, on the same ids, with one thread.

usage: encoder_peer.py ids FOLDER CONLLU FILE  writes the ids of the sentences of a CoNLL-U file
       encoder_peer.py time FOLDER FILE [--rounds N]  times transformers' model in FOLDER on these ids
       encoder_peer.py convert FOLDER OTHER           writes the model for ONNX Runtime and CTranslate2
       encoder_peer.py runtimes OTHER FILE [--rounds N]  times these two on the ids, inference only

The last two need pip install onnx onnxruntime onnxscript ctranslate2 in build/python_torch. It runs in build/python_torch, which scripts/python_torch.sh makes. Sentences are sorted by length, so
that batches have little padding; the best of several batch sizes counts, as does the best attention.
Sentences per second of processor time.
"""

import argparse
import os
import time

SENTENCES = 512
BATCH_SIZES = (1, 8, 16, 32, 64)


def write_ids(folder, conllu, file):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with open(conllu, encoding="utf-8") as lines, open(file, "w", encoding="utf-8") as out:
        texts = [line[len("# text = "):].strip() for line in lines if line.startswith("# text = ")]
        for text in texts[:SENTENCES]:
            print(*tokenizer.encode(text).ids, file=out)


def batches_of(sentences, size):
    import torch

    ordered = sorted(sentences, key=len)
    for begin in range(0, len(ordered), size):
        part = ordered[begin:begin + size]
        longest = max(map(len, part))
        ids = torch.tensor([ids + [0] * (longest - len(ids)) for ids in part])
        yield ids, torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in part])


def embed(model, ids, mask):
    states = model(input_ids=ids, attention_mask=mask).last_hidden_state
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def infer(model, batches):
    import torch

    with torch.inference_mode():
        for ids, mask in batches:
            embed(model, ids, mask)


def train(model, batches, optimizer):
    for ids, mask in batches:
        optimizer.zero_grad()
        (embed(model, ids, mask) ** 2).sum().backward()
        optimizer.step()


def time_model(folder, file, rounds):
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    with open(file, encoding="utf-8") as lines:
        sentences = [[int(n) for n in line.split()] for line in lines][:SENTENCES]
    best = {"inference": (0, ""), "training": (0, "")}
    for attention in ("sdpa", "eager"):
        model = transformers.AutoModel.from_pretrained(folder, attn_implementation=attention,
                                                       add_pooling_layer=False)
        optimizer = torch.optim.Adam(model.parameters(), 1e-5)
        for size in BATCH_SIZES:
            batches = list(batches_of(sentences, size))
            for mode in best:
                if mode == "training" and size == 1:
                    continue
                model.train(mode == "training")
                run = lambda: infer(model, batches) if mode == "inference" else train(model, batches, optimizer)
                for _ in range(rounds):
                    start = time.process_time()
                    run()
                    rate = len(sentences) / (time.process_time() - start)
                    best[mode] = max(best[mode], (rate, f"{attention}, batches of {size}"))
    for mode, (rate, how) in best.items():
        print(f"{mode} {rate:.1f} sentences per second ({how})")


def convert(folder, other):
    import ctranslate2
    import torch
    import transformers

    class States(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    os.makedirs(other, exist_ok=True)
    model = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False).eval()
    example = torch.ones(2, 7, dtype=torch.long)
    shape = {0: torch.export.Dim("sentences", max=512), 1: torch.export.Dim("pieces", max=512)}
    torch.onnx.export(States(model), (example, example), other + "/model.onnx", dynamo=True,
                      input_names=["ids", "mask"], dynamic_shapes=(shape, shape))
    ctranslate2.converters.TransformersConverter(folder).convert(other + "/ctranslate2", force=True)


def time_runtimes(other, file, rounds):
    import ctranslate2
    import numpy
    import onnxruntime

    one_thread = onnxruntime.SessionOptions()
    one_thread.intra_op_num_threads = one_thread.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(other + "/model.onnx", one_thread, ["CPUExecutionProvider"])
    encoder = ctranslate2.Encoder(other + "/ctranslate2", device="cpu", inter_threads=1, intra_threads=1)

    def run_onnx(part):
        ids = numpy.zeros((len(part), max(map(len, part))), numpy.int64)
        mask = numpy.zeros_like(ids)
        for i, sentence in enumerate(part):
            ids[i, :len(sentence)] = sentence
            mask[i, :len(sentence)] = 1
        return session.run(None, {"ids": ids, "mask": mask})

    with open(file, encoding="utf-8") as lines:
        sentences = sorted(([int(n) for n in line.split()] for line in lines), key=len)[:SENTENCES]
    for name, run in (("ONNX Runtime", run_onnx), ("CTranslate2", encoder.forward_batch)):
        best = (0, 0)
        for size in BATCH_SIZES:
            for _ in range(rounds):
                start = time.process_time()
                for begin in range(0, len(sentences), size):
                    run(sentences[begin:begin + size])
                best = max(best, (len(sentences) / (time.process_time() - start), size))
        print(f"{name} {best[0]:.1f} sentences per second (batches of {best[1]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ids = commands.add_parser("ids")
    timed = commands.add_parser("time")
    converted = commands.add_parser("convert")
    runtimes = commands.add_parser("runtimes")
    for command in (ids, timed, converted):
        command.add_argument("folder")
    ids.add_argument("conllu")
    for command in (converted, runtimes):
        command.add_argument("other")
    for command in (ids, timed, runtimes):
        command.add_argument("file")
    for command in (timed, runtimes):
        command.add_argument("--rounds", type=int, default=2)
    given = vars(parser.parse_args())
    functions = {"ids": write_ids, "time": time_model, "convert": convert, "runtimes": time_runtimes}
    functions[given.pop("command")](**given)


if __name__ == "__main__":
    main()

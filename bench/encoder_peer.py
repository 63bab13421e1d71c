#!/usr/bin/env python3
"""Times PyTorch beside bench/encoder, on the same ids, with one thread.

usage: encoder_peer.py ids FOLDER CONLLU FILE  writes the ids of the sentences of a CoNLL-U file
       encoder_peer.py time FOLDER FILE [--rounds N]  times transformers' model in FOLDER on these ids

It runs in build/python_torch, which scripts/python_torch.sh makes. Sentences are sorted by length, so
that batches have little padding; the best of several batch sizes counts, as does the best attention.
Sentences per second of processor time.
"""

import argparse
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ids = commands.add_parser("ids")
    timed = commands.add_parser("time")
    for command in (ids, timed):
        command.add_argument("folder")
    ids.add_argument("conllu")
    for command in (ids, timed):
        command.add_argument("file")
    timed.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    if options.command == "ids":
        write_ids(options.folder, options.conllu, options.file)
    else:
        time_model(options.folder, options.file, options.rounds)


if __name__ == "__main__":
    main()

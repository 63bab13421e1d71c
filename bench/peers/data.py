"""Reads the output of bench/dump: data sets and the initial weights of models."""

import json
import pathlib

import numpy as np
import torch

# The order of the gates in the rows of weights: one letter per gate, which has `hidden` rows.
LSTM_ROWS = "fiou"  # nn::LSTM
TREE_LSTM_ROWS = "lriou"  # nn::TreeLSTM; l and r: forget gates of left and right child


class Tree:
    """Arrays with an entry per node, children before parents; left is -1 at the leaves."""

    def __init__(self, line):
        nodes = []  # a node is (label, word, left, right, height)
        for entry in line.split():
            label, *rest = map(int, entry.split("/"))
            if len(rest) == 1:
                nodes.append((label, rest[0], -1, -1, 0))
            else:
                left, right = rest
                nodes.append((label, 0, left, right, 1 + max(nodes[left][4], nodes[right][4])))
        self.label, self.word, self.left, self.right, self.height = np.array(nodes).T.copy()

    def __len__(self):
        return len(self.label)


class Sentence:
    """A word per position, and the label to predict there."""

    def __init__(self, words, labels):
        self.words, self.labels = np.array(words), np.array(labels)

    def __len__(self):
        return len(self.words)


def tagged_sentence(line):
    return Sentence(*zip(*(map(int, entry.split("/")) for entry in line.split())))


def language_sentence(line):
    words = [int(word) for word in line.split()]
    return Sentence(words[:-1], words[1:])


READERS = {"tree_lstm": Tree, "tagger": tagged_sentence, "language_model": language_sentence}


def read_weights(path):
    """The tensors of a safetensors file of float32: a header's size, the header, and the numbers."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    weights = {}
    for name, entry in json.loads(content[8:begin]).items():
        if name != "__metadata__":
            first, end = (begin + offset for offset in entry["data_offsets"])
            numbers = np.frombuffer(content[first:end], "<f4").reshape(entry["shape"])
            weights[name.lstrip("/")] = torch.from_numpy(numbers.copy())
    return weights


def load(folder, model, hidden, device):
    """A model's instances, its first weights by name and its first minibatch's loss."""
    folder = pathlib.Path(folder)
    entry = json.loads((folder / "losses.json").read_text())[f"{model}_h{hidden}"]
    instances = [READERS[model](line) for line in (folder / entry["data"]).read_text().splitlines()]
    weights = read_weights(folder / entry["weights"])
    return instances, {name: w.to(device) for name, w in weights.items()}, entry["losses"]["fused"]


def reorder(weight, rows, wanted):
    """The same matrix or vector with its gates in another order."""
    gates = dict(zip(rows, weight.chunk(len(rows))))
    return torch.cat([gates[gate] for gate in wanted])

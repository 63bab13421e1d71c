"""The tagger and the language model in PyTorch: word by word, packed, and by hand."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence

import cells
from data import LSTM_ROWS, reorder
from model import Model, indices, parameter

TORCH_ROWS = "ifuo"  # the order of gates in torch.nn.LSTM
CELL_ROWS = "fiou"  # the order of gates in cells.py


class Packed:
    """The words of a minibatch: the first words of all sentences, those of the longest sentence first,
    then all second words, and so on. `sizes` has the number of sentences with each position.
    """

    def __init__(self, sentences):
        lengths = np.array([len(sentence.words) for sentence in sentences])
        first = np.cumsum(lengths) - lengths
        order = np.argsort(-lengths, kind="stable")
        self.lengths, first = lengths[order], first[order]
        self.step = np.arange(self.lengths[0])[:, None]
        self.is_there = self.step < self.lengths
        self.sizes = self.is_there.sum(1)
        self.row = np.cumsum(self.is_there).reshape(self.is_there.shape) - 1
        place = (first + self.step)[self.is_there]
        self.words = np.concatenate([sentence.words for sentence in sentences])[place]
        self.labels = np.concatenate([sentence.labels for sentence in sentences])[place]

    def before(self, device):
        """For all words but the first ones, the rows of the words before them."""
        return indices(self.row[:-1][self.is_there[1:]], device)

    def mirror(self, device):
        """The rows of the words of the sentences read backwards."""
        step = np.where(self.is_there, self.lengths - 1 - self.step, 0)
        return indices(np.take_along_axis(self.row, step, 0)[self.is_there], device)


class SequenceModel(Model):
    """Subclasses compute the outputs of LSTMs; this class has the layers after them."""

    def __init__(self, weights, rows):
        super().__init__(weights)
        names = ["lstm"] if "lstm/U" in weights else ["forward", "backward"]
        get = lambda kind: [reorder(weights[f"{name}/{kind}"], LSTM_ROWS, rows) for name in names]
        self.inputs, self.recurrent, self.bias = get("W"), get("U"), get("b")
        self.hidden = self.recurrent[0].shape[1]
        after = ("hidden/W", "hidden/b", "output/W", "output/b")
        self.layers = [parameter(weights[name]) for name in after if name in weights]
        self.dense = list(self.layers)

    def score(self, outputs, labels):
        return loss_of_layers(outputs, indices(labels, outputs.device), *self.layers)


def loss_of_layers(x, labels, *layers):
    if len(layers) == 4:
        x = F.linear(x, *layers[:2]).tanh()
    return F.cross_entropy(F.linear(x, *layers[-2:]), labels, reduction="sum")


compiled_loss = torch.compile(loss_of_layers, dynamic=True)


class PerNode(SequenceModel):
    """A sentence at a time, a cell per word; words and losses of a sentence are batched."""

    def __init__(self, weights):
        super().__init__(weights, TORCH_ROWS)
        kinds = zip(self.inputs, self.recurrent, self.bias)
        self.directions = [tuple(map(parameter, kind)) for kind in kinds]
        self.dense += [weight for direction in self.directions for weight in direction]
        self.no_bias = self.bias[0].new_zeros(4 * self.hidden)

    def loss(self, instances):
        return sum(self.loss_of_sentence(sentence) for sentence in instances)

    def loss_of_sentence(self, sentence):
        words, outputs = self.embed(sentence.words).split(1), []
        for backwards, (inputs, recurrent, bias) in enumerate(self.directions):
            state, states = (self.no_bias.new_zeros(1, self.hidden),) * 2, []
            for word in reversed(words) if backwards else words:
                state = torch.lstm_cell(word, state, inputs, recurrent, bias, self.no_bias)
                states.append(state[0])
            outputs.append(torch.cat(states[::-1] if backwards else states))
        return self.score(torch.cat(outputs, 1), sentence.labels)


class PackedLstm(SequenceModel):
    """torch.nn.LSTM over a packed minibatch; hidden and output layers once for all words."""

    def __init__(self, weights):
        super().__init__(weights, TORCH_ROWS)
        size, both_ways = self.inputs[0].shape[1], len(self.inputs) == 2
        self.lstm = torch.nn.LSTM(
            size, self.hidden, bidirectional=both_ways, device=self.table.device
        )
        for i, suffix in enumerate(("_l0", "_l0_reverse")[: len(self.inputs)]):
            getattr(self.lstm, "weight_ih" + suffix).data.copy_(self.inputs[i])
            getattr(self.lstm, "weight_hh" + suffix).data.copy_(self.recurrent[i])
            getattr(self.lstm, "bias_ih" + suffix).data.copy_(self.bias[i])
            # It has a second bias; ours, like most, has only one.
            getattr(self.lstm, "bias_hh" + suffix).requires_grad_(False).zero_()
        self.dense += [weight for weight in self.lstm.parameters() if weight.requires_grad]

    def loss(self, instances):
        packed = Packed(instances)
        # The sizes stay on the CPU, which launches the steps.
        x = PackedSequence(self.embed(packed.words), torch.from_numpy(packed.sizes))
        return self.score(self.lstm(x)[0].data, packed.labels)


class PackedLstmCompiledLoss(PackedLstm):
    """The same, with compiled layers after the LSTM."""

    def score(self, outputs, labels):
        return compiled_loss(outputs, indices(labels, outputs.device), *self.layers)


class Lstm(torch.autograd.Function):
    """LSTMs over a packed minibatch, with gradients by hand: each weight's is one product.

    Takes gates (directions, words, 4 h), the contributions of the words to the gates, and recurrent
    (directions, 4 h, h). Returns (directions, words, h).
    """

    @staticmethod
    def forward(context, gates, recurrent, packed):
        ways, words, hidden = gates.shape[0], gates.shape[1], recurrent.shape[2]
        h, c = gates.new_empty(ways, words, hidden), gates.new_empty(ways, words, hidden)
        transposed, saved, begin, last = recurrent.transpose(1, 2), [], 0, 0
        for size in packed.sizes.tolist():
            now, before = slice(begin, begin + size), slice(last, last + size)
            if begin == 0:
                inputs, previous = gates[:, now], gates.new_zeros(ways, size, hidden)
            else:
                inputs = torch.baddbmm(gates[:, now], h[:, before], transposed)
                previous = c[:, before]
            previous = previous.reshape(-1, 1, hidden)
            values, t, now_c, now_h = cells.compiled_forward(
                inputs.reshape(-1, 4 * hidden), previous
            )
            c[:, now], h[:, now] = now_c.view(ways, size, -1), now_h.view(ways, size, -1)
            saved.append((now, before, values, t, previous))
            last, begin = begin, begin + size
        context.saved = recurrent, h, saved, packed
        return h

    @staticmethod
    def backward(context, dh):
        recurrent, h, saved, packed = context.saved
        ways, words, hidden = h.shape
        dh, dc, dgates = dh.clone(), torch.zeros_like(dh), dh.new_empty(ways, words, 4 * hidden)
        for now, before, values, t, previous in reversed(saved):
            dgate, dprevious = cells.compiled_backward(
                dh[:, now].reshape(-1, hidden), dc[:, now].reshape(-1, hidden), values, t, previous
            )
            dgates[:, now] = dgate = dgate.view(ways, -1, 4 * hidden)
            if now.start > 0:
                dh[:, before] += torch.bmm(dgate, recurrent)
                dc[:, before] = dprevious.view(ways, -1, hidden)
        inputs = h.index_select(1, packed.before(h.device))
        drecurrent = torch.bmm(dgates[:, packed.sizes[0] :].transpose(1, 2), inputs)
        return dgates, drecurrent, None


class ByHand(SequenceModel):
    """A product per step for both directions, gradients by hand, compiled cells and loss."""

    def __init__(self, weights):
        super().__init__(weights, CELL_ROWS)
        self.inputs = parameter(torch.stack(self.inputs))
        self.recurrent = parameter(torch.stack(self.recurrent))
        self.bias = parameter(torch.stack(self.bias).unsqueeze(1))
        self.dense += [self.inputs, self.recurrent, self.bias]

    def loss(self, instances):
        packed, both_ways = Packed(instances), len(self.inputs) == 2
        x = self.embed(packed.words)
        if both_ways:
            mirror = packed.mirror(x.device)
            x = torch.stack([x, x.index_select(0, mirror)])
        else:
            x = x.unsqueeze(0)
        gates = torch.baddbmm(self.bias, x, self.inputs.transpose(1, 2))
        h = Lstm.apply(gates, self.recurrent, packed)
        h = torch.cat([h[0], h[1].index_select(0, mirror)], 1) if both_ways else h[0]
        return compiled_loss(h, indices(packed.labels, h.device), *self.layers)


VARIANTS = {"per node": PerNode, "batched": PackedLstm, "compiled": PackedLstmCompiledLoss,
            "by hand": ByHand}

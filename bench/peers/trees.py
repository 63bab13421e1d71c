"""The Tree-LSTM in PyTorch: node by node, and batched by hand per level."""

import numpy as np
import torch
import torch.nn.functional as F

import cells
from data import TREE_LSTM_ROWS, reorder
from model import Model, indices, parameter, picked_loss

ROWS = "lriou"  # the order of gates in cells.py


class TreeModel(Model):
    def __init__(self, weights):
        super().__init__(weights)
        self.hidden = weights["tree_lstm/U_left"].shape[1]
        children = torch.cat([weights["tree_lstm/U_left"], weights["tree_lstm/U_right"]], 1)
        self.leaf = parameter(reorder(weights["tree_lstm/W"], TREE_LSTM_ROWS[2:], ROWS[2:]))
        self.inner = parameter(reorder(children, TREE_LSTM_ROWS, ROWS))
        self.bias = parameter(reorder(weights["tree_lstm/b"], TREE_LSTM_ROWS, ROWS))
        self.output = parameter(weights["output/W"])
        self.output_bias = parameter(weights["output/b"])
        self.dense = [self.leaf, self.inner, self.bias, self.output, self.output_bias]

    def score(self, outputs, labels):
        return picked_loss(F.linear(outputs, self.output, self.output_bias), labels)


class PerNode(TreeModel):
    """A tree at a time, a cell per node; words and losses of a tree are batched."""

    def loss(self, instances):
        return sum(self.loss_of_tree(tree) for tree in instances)

    def loss_of_tree(self, tree):
        hidden = self.hidden
        words = iter(self.embed(tree.word[tree.left < 0]).unbind())
        outputs, cell_values = [], []
        for left, right in zip(tree.left.tolist(), tree.right.tolist()):
            if left < 0:
                gates = F.linear(next(words), self.leaf, self.bias[2 * hidden :])
                i, o = gates[: 2 * hidden].sigmoid().chunk(2)
                c = i * gates[2 * hidden :].tanh()
            else:
                gates = F.linear(torch.cat([outputs[left], outputs[right]]), self.inner, self.bias)
                fl, fr, i, o = gates[: 4 * hidden].sigmoid().chunk(4)
                c = (
                    i * gates[4 * hidden :].tanh()
                    + fl * cell_values[left]
                    + fr * cell_values[right]
                )
            outputs.append(o * c.tanh())
            cell_values.append(c)
        return self.score(torch.stack(outputs), tree.label)


class Levels:
    """The nodes of a minibatch by height, leaves first; level l ends before node ends[l]."""

    def __init__(self, trees, device):
        sizes = np.array([len(tree.left) for tree in trees])
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        height = np.concatenate([tree.height for tree in trees])
        order = np.argsort(height, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.ends = np.cumsum(np.bincount(height)).tolist()
        leaves, inner = order[: self.ends[0]], order[self.ends[0] :]
        self.words = np.concatenate([tree.word for tree in trees])[leaves]
        self.labels = np.concatenate([tree.label for tree in trees])[order]
        left = np.concatenate([tree.left for tree in trees])[inner]
        right = np.concatenate([tree.right for tree in trees])[inner]
        pairs = place[np.stack([left, right], 1) + first[inner, None]]
        # The left and right child of every inner node.
        self.children = indices(pairs.reshape(-1), device)

    def __iter__(self):
        """The first and the last node, and the children, of every level of inner nodes."""
        leaves = self.ends[0]
        for begin, end in zip(self.ends, self.ends[1:]):
            yield begin, end, self.children[2 * (begin - leaves) : 2 * (end - leaves)]


class PerLevel(TreeModel):
    """A gather, a product and a cell per level. Autograd computes the gradients."""

    cell = staticmethod(cells.forward)

    def loss(self, instances):
        hidden, levels = self.hidden, Levels(instances, self.table.device)
        gates = F.linear(self.embed(levels.words), self.leaf, self.bias[2 * hidden :])
        _, _, c, h = self.cell(gates, gates.new_empty(len(gates), 0, hidden))
        for _, _, children in levels:
            inputs = h.index_select(0, children).view(-1, 2 * hidden)
            before = c.index_select(0, children).view(-1, 2, hidden)
            gates = F.linear(inputs, self.inner, self.bias)
            _, _, level_c, level_h = self.cell(gates, before)
            c, h = torch.cat([c, level_c]), torch.cat([h, level_h])
        return self.score(h, levels.labels)


class PerLevelCompiled(PerLevel):
    """The same with compiled cells."""

    cell = staticmethod(cells.compiled_forward)


class TreeLstm(torch.autograd.Function):
    """The outputs of all nodes, with gradients by hand.

    The states of all levels share one block, so that no level is copied, and every weight's gradient
    is one product over all levels.
    """

    @staticmethod
    def forward(context, words, leaf, inner, bias, levels):
        hidden, leaves = leaf.shape[0] // 3, len(words)
        c, h = words.new_empty(levels.ends[-1], hidden), words.new_empty(levels.ends[-1], hidden)
        gates = torch.addmm(bias[2 * hidden :], words, leaf.t())
        values, t, c[:leaves], h[:leaves] = cells.compiled_forward(
            gates, words.new_empty(leaves, 0, hidden)
        )
        saved, transposed = [(0, leaves, None, None, None, values, t)], inner.t()
        for begin, end, children in levels:
            inputs = h.index_select(0, children).view(-1, 2 * hidden)
            before = c.index_select(0, children).view(-1, 2, hidden)
            values, t, c[begin:end], h[begin:end] = cells.compiled_forward(
                torch.addmm(bias, inputs, transposed), before
            )
            saved.append((begin, end, children, inputs, before, values, t))
        context.saved = words, leaf, inner, saved
        return h

    @staticmethod
    def backward(context, dh):
        words, leaf, inner, saved = context.saved
        hidden, dgates = leaf.shape[0] // 3, []
        dh, dc = dh.contiguous(), torch.zeros_like(dh)
        for begin, end, children, _, before, values, t in reversed(saved[1:]):
            dgate, dbefore = cells.compiled_backward(
                dh[begin:end], dc[begin:end], values, t, before
            )
            dh.index_add_(0, children, torch.mm(dgate, inner).view(-1, hidden))
            dc.index_copy_(0, children, dbefore.view(-1, hidden))  # a node has one parent
            dgates.append(dgate)
        leaves, values, t = saved[0][1], *saved[0][5:]
        dleaf, _ = cells.compiled_backward(
            dh[:leaves], dc[:leaves], values, t, words.new_empty(leaves, 0, hidden)
        )
        dinner = torch.cat(dgates[::-1])
        inputs = torch.cat([level[3] for level in saved[1:]])
        dbias = dinner.sum(0)
        dbias[2 * hidden :] += dleaf.sum(0)
        return dleaf @ leaf, dleaf.t() @ words, dinner.t() @ inputs, dbias, None


class PerLevelByHand(TreeModel):
    """Like PerLevel, with gradients by hand and compiled cells."""

    def loss(self, instances):
        levels = Levels(instances, self.table.device)
        outputs = TreeLstm.apply(self.embed(levels.words), self.leaf, self.inner, self.bias, levels)
        return self.score(outputs, levels.labels)


VARIANTS = {"per node": PerNode, "batched": PerLevel, "compiled": PerLevelCompiled,
            "by hand": PerLevelByHand}

"""The elementwise part of an LSTM's cell and its gradient, for any number of children.

The gates' order: a forget gate per child (a word has one child, the word before it; an inner node
of a tree has two; a leaf has none), input, output, update.
"""

import torch


def forward(gates, children):
    """Computes cells from the inputs of gates, (n, (k + 3) h), and the children's cells, (n, k, h).

    Returns the gates' values, the tanh of the cells, the cells and the outputs.
    """
    k, hidden = children.shape[1:]
    logistic = gates[:, : (k + 2) * hidden].sigmoid()
    u = gates[:, (k + 2) * hidden :].tanh()
    i, o = logistic[:, k * hidden : (k + 1) * hidden], logistic[:, (k + 1) * hidden :]
    c = i * u
    for child in range(k):
        c = c + logistic[:, child * hidden : (child + 1) * hidden] * children[:, child]
    t = c.tanh()
    return torch.cat([logistic, u], 1), t, c, o * t


def backward(dh, dc, values, t, children):
    """The gradients of the arguments of forward(), from those of the outputs and of the cells."""
    k, hidden = children.shape[1:]
    f = values[:, : k * hidden].unflatten(1, (k, hidden))
    i, o, u = values[:, k * hidden :].chunk(3, 1)
    dc = dc + dh * o * (1 - t * t)
    df = dc.unsqueeze(1) * children * f * (1 - f)
    di, do, du = dc * u * i * (1 - i), dh * t * o * (1 - o), dc * i * (1 - u * u)
    return torch.cat([df.flatten(1), di, do, du], 1), dc.unsqueeze(1) * f


compiled_forward = torch.compile(forward, dynamic=True)
compiled_backward = torch.compile(backward, dynamic=True)

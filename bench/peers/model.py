"""Common parts of all models: a table of embeddings, dense weights, stochastic gradient descent."""

import torch
import torch.nn.functional as F


class Model:
    """A way to compute a model's loss. Subclasses set `dense`, all weights but the table's."""

    def __init__(self, weights):
        self.table = parameter(weights["embedding/E"])
        self.dense = []

    def embed(self, words):
        """Rows of the table. Its gradient has only these rows."""
        return F.embedding(indices(words, self.table.device), self.table, sparse=True)

    def loss(self, instances):
        """The sum of all losses of a minibatch, a tensor."""
        raise NotImplementedError

    def train(self, instances, rate):
        loss = self.loss(instances)
        loss.backward()
        with torch.no_grad():
            # Quicker than torch.optim.SGD, which does the same after some checks.
            torch._foreach_add_(self.dense, [w.grad for w in self.dense], alpha=-rate)
            self.table.add_(self.table.grad, alpha=-rate)
        for weight in (self.table, *self.dense):
            weight.grad = None
        return loss.item()  # waits until the device has finished

    def infer(self, instances):
        with torch.inference_mode():
            return self.loss(instances).item()


def parameter(weight):
    return weight.clone().requires_grad_()


def indices(array, device):
    """A numpy array as a tensor on the device."""
    return torch.from_numpy(array).to(device)


def picked_loss(scores, labels):
    return F.cross_entropy(scores, indices(labels, scores.device), reduction="sum")

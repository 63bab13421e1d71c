"""Taggers and language models in JAX: compiled, with lax.scan, for lengths rounded up.

The number of positions is a power of two, and that of words a multiple of an eighth of one, so that few
programs are compiled, and hidden and output layers have little padding.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from sequences import Packed


def rounded_up(n, steps):
    """The next multiple of a power of two divided by `steps`."""
    power = 1 << (n - 1).bit_length()
    return -(-n * steps // power) * power // steps if power > steps else power


def lstm(gates, recurrent, is_there, reverse):
    """The outputs for the contributions of words to gates, in the order of nn::LSTM: f, i, o, u."""

    def step(state, now):
        h, c = state
        f, i, o, u = jnp.split(now[0] + h @ recurrent.T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(u)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        h, c = jnp.where(now[1], h, 0), jnp.where(now[1], c, 0)
        return (h, c), h

    zero = jnp.zeros((gates.shape[1], recurrent.shape[1]))
    return jax.lax.scan(step, (zero, zero), (gates, is_there), reverse=reverse)[1]


def loss(weights, x, is_there, place, labels, is_word):
    names = ["lstm"] if "lstm/U" in weights else ["forward", "backward"]
    gates = [x @ weights[name + "/W"].T + weights[name + "/b"] for name in names]
    outputs = [lstm(gate, weights[name + "/U"], is_there, name == "backward")
               for name, gate in zip(names, gates)]
    h = jnp.concatenate(outputs, 2).reshape(-1, len(names) * outputs[0].shape[2])[place]
    if "hidden/W" in weights:
        h = jnp.tanh(h @ weights["hidden/W"].T + weights["hidden/b"])
    log_p = jax.nn.log_softmax(h @ weights["output/W"].T + weights["output/b"])
    return -jnp.sum(jnp.where(is_word, log_p[jnp.arange(len(labels)), labels], 0))


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train(table, weights, rate, words, *rest):
    result, (by_weight, by_x) = jax.value_and_grad(loss, (0, 1))(weights, table[words], *rest)
    weights = {name: weight - rate * by_weight[name] for name, weight in weights.items()}
    return table.at[words].add(-rate * by_x), weights, result


@jax.jit
def infer(table, weights, words, *rest):
    return loss(weights, table[words], *rest)


class Jax:
    def __init__(self, weights):
        self.weights = {name: jnp.array(weight.numpy()) for name, weight in weights.items()}
        self.table = self.weights.pop("embedding/E")

    def inputs(self, instances):
        packed = Packed(instances)
        positions, sentences = packed.is_there.shape
        words = np.zeros((rounded_up(positions, 1), sentences), np.int32)
        is_there = np.zeros((*words.shape, 1), bool)
        words[:positions][packed.is_there] = packed.words
        is_there[:positions, :, 0] = packed.is_there
        place, labels = np.zeros((2, rounded_up(len(packed.words), 8)), np.int32)
        place[: len(packed.words)] = packed.is_there.ravel().nonzero()[0]
        labels[: len(packed.words)] = packed.labels
        return words, is_there, place, labels, np.arange(len(labels)) < len(packed.words)

    def train(self, instances, rate):
        inputs = self.inputs(instances)
        self.table, self.weights, result = train(self.table, self.weights, float(rate), *inputs)
        return float(result)

    def infer(self, instances):
        return float(infer(self.table, self.weights, *self.inputs(instances)))

    def shape(self, instances):
        """Minibatches of the same shape share a compiled program."""
        words, _, place, *_ = self.inputs(instances)
        return words.shape, place.shape

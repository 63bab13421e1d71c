"""The seconds that an update takes on many machines, for bench/scaling.py.

A rank's minibatch with u words takes f(u) seconds, including the update, which is the same on all
ranks: measured for batches of 4 to 256, with straight lines between. Each further shard of a rank
adds a seventh of the time by which 8 shards are slower than one. Samples are cut into shards as in
the library, one per rank or 8, with the sizes of real data; all ranks wait for the slowest.

An exchange sends bytes to all others. It takes 1 latency, or 3 above 64 kilobytes, since Open MPI
asks first; R - 1 times the processor time of a message; and the bytes that a rank sends, divided by
the rate, 94 % of which are not headers. There is one exchange to agree, and two for gradients
(slices of a rank's sums to their owners, and each sum to all), each with a message per megabyte.
They include the rows of tables, one per different word of the samples. Packing, adding and
unpacking takes a time per byte, which is what 2 ranks on one host take beyond the rest of the
formula. Not included: congestion, slow start of TCP, failures, and the gain from sending gradients
while others are computed.
"""

import heapq
import itertools
import re
from collections import Counter

import numpy as np

BATCHES = (4, 8, 16, 32, 64, 128, 256)
EAGER = 1 << 16  # for more bytes, Open MPI asks the receiver first: two more latencies
BUCKET = 1 << 20  # as in gradient_exchange.cpp
PAYLOAD = 1448 / 1538  # of TCP, in an Ethernet packet with the gap to the next


def sentences_of(name, text):
    """Lists of words, one for each sample."""
    if name == "tree_lstm":
        return [re.findall(r" ([^ ()]+)\)", line) for line in text.splitlines()]
    return [[line.split("\t")[1] for line in block.splitlines() if line[0].isdigit()
             and line.split("\t")[0].isdigit()] for block in text.split("\n\n") if block]  # fmt: skip


class Example:
    """An example: its costs, and the words of its real data."""

    def __init__(self, name, text, costs):
        sentences = sentences_of(name, text)
        counts = Counter(word for sentence in sentences for word in sentence)
        known = {word: i for i, (word, n) in enumerate(counts.items(), 1) if n > 1}
        self.rows = [{known.get(word, 0) for word in one} for one in sentences]
        self.sizes = np.array([len(sentence) for sentence in sentences])
        self.costs, (self.dense, self.row) = costs, costs["bytes"]
        rates = {key: max(values) for key, values in costs["turns"].items()}
        seconds = [n / rates[f"batch {n}"] for n in BATCHES]
        self.points = np.array(BATCHES) * self.sizes.mean(), np.array(seconds)
        self.shard = max(0.0, 64 / rates["shards 8"] - 64 / rates["batch 64"]) / 7
        self.best, self.handling = max(rates[f"batch {n}"] for n in BATCHES), 0.0
        here = 1e6, 0.0  # Gbit/s and latency between ranks of one host: only handling counts
        rest = 64 / rates["simulated here 2"] - self.step(2, 64, *here).sum()
        self.handling = max(0.0, rest) / self.sent(2, 64)

    def compute(self, words):
        """Seconds of a minibatch with so many words: interpolated between measurements, and
        extrapolated by straight lines."""
        x, y = self.points
        low, high = (y[1] - y[0]) / (x[1] - x[0]), (y[-1] - y[-2]) / (x[-1] - x[-2])
        inner = np.interp(words, x, y)
        return inner + low * np.minimum(words - x[0], 0) + high * np.maximum(words - x[-1], 0)

    def step(self, ranks, batch, gigabits, latency):
        """Seconds of an update: the mean of the ranks, how much longer the slowest takes, and the
        exchanges. The latency is in microseconds."""
        random, rate = np.random.default_rng(1), gigabits * 1e9 / 8 * PAYLOAD
        parts = []
        for _ in range(5):
            shards, own = self.share(ranks, random.choice(len(self.sizes), batch))
            words = np.array([sum(self.sizes[shard].sum() for shard in some) for some in own])
            times = self.compute(words) + self.shard * (np.array([*map(len, own)]) - 1)
            exchange = sum(
                latency * 1e-6 * (1 if size < EAGER * count else 3)
                + (ranks - 1) * (self.costs["message"] * count + size / rate + size * self.handling)
                for size, count in self.messages(ranks, shards, own)
            )
            parts.append((times.mean(), times.max() - times.mean(), exchange))
        return np.mean(parts, axis=0)

    def sent(self, ranks, batch):
        """The bytes that a rank sends."""
        samples = np.random.default_rng(1).choice(len(self.sizes), batch)
        messages = self.messages(ranks, *self.share(ranks, samples))
        return (ranks - 1) * sum(size for size, _ in messages)

    def rate(self, ranks, batch, gigabits, latency):
        return batch / self.step(ranks, batch, gigabits, latency).sum()

    def share(self, ranks, samples):
        """All shards, and the shards of each rank."""
        shards = cut_into_shards(samples, self.sizes, max(8, ranks))
        cuts = [len(shards) * r // ranks for r in range(ranks + 1)]
        return shards, [shards[begin:end] for begin, end in itertools.pairwise(cuts)]

    def messages(self, ranks, shards, own):
        """For each exchange of an update: bytes to each other rank, and the number of messages."""
        cuts = np.cumsum([0, *map(len, own)])
        sums = max(tree_nodes(begin, end) for begin, end in itertools.pairwise(cuts))
        rows, all_rows = max(map(self.count_rows, own)), self.count_rows(shards)
        buckets = max(1, -(-self.dense // BUCKET))
        yield 100, 1  # to agree
        yield (sums * self.dense + rows * self.row) / ranks, buckets
        yield (self.dense + all_rows * self.row) / ranks, buckets

    def count_rows(self, shards):
        return len(set().union(*(self.rows[sample] for shard in shards for sample in shard)))


def cut_into_shards(samples, sizes, count):
    """Cuts samples into shards as shards.cpp does: the largest first, into the least full shard."""
    loads = [(0, shard) for shard in range(count)]
    shards = [[] for _ in range(count)]
    for sample in samples[np.argsort(-sizes[samples], kind="stable")]:
        load, shard = heapq.heappop(loads)
        shards[shard].append(sample)
        heapq.heappush(loads, (load + max(1, sizes[sample]), shard))
    return [np.array(shard, int) for shard in shards]


def tree_nodes(begin, end):
    """The number of sums that a rank has of its shards."""
    count = 0
    while begin < end:
        width = 1
        while begin % (2 * width) == 0 and begin + 2 * width <= end:
            width *= 2
        begin, count = begin + width, count + 1
    return count

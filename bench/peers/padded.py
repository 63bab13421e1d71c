"""Taggers and language models whose sentences are padded to the longest: PyTorch's LSTM, which is then
oneDNN's primitive, and ONNX Runtime, in inference only.
"""

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from data import reorder
from model import indices
from sequences import TORCH_ROWS, Packed, PackedLstm

ONNX_ROWS = "iofu"


class Padded(Packed):
    """A matrix of words with a row per position and a column per sentence, and the same backwards."""

    def __init__(self, sentences):
        super().__init__(sentences)
        self.place = self.is_there.ravel().nonzero()[0]  # of every packed word

    def matrix(self, words):
        matrix = np.zeros(self.is_there.shape, np.int64)
        matrix[self.is_there] = words
        return matrix


class OneDnn(PackedLstm):
    """A call of oneDNN's LSTM for each direction; the sentences of the second are reversed by hand."""

    def __init__(self, weights):
        super().__init__(weights)
        size, both_ways = self.inputs[0].shape[1], len(self.inputs) == 2
        self.directions = [torch.nn.LSTM(size, self.hidden) for _ in self.inputs]
        for direction, suffix in zip(self.directions, ("_l0", "_l0_reverse")):
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(direction, kind + "_l0", getattr(self.lstm, kind + suffix))

    def loss(self, instances):
        packed = Padded(instances)
        place = indices(packed.place, self.table.device)
        read = lambda way, words: self.directions[way](self.embed(packed.matrix(words)))[0]
        h = read(0, packed.words).flatten(0, 1)[place]
        if len(self.directions) == 2:
            mirror = packed.mirror(h.device)
            back = read(1, packed.words[mirror.numpy()]).flatten(0, 1)[place]
            h = torch.cat([h, back.index_select(0, mirror)], 1)
        return self.score(h, packed.labels)


def onnx_model(weights):
    """The graph of a model's loss. Inputs: words (positions, sentences), lengths, place and labels."""
    names = ["lstm"] if "lstm/U" in weights else ["forward", "backward"]
    constants, nodes = {"table": weights["embedding/E"]}, []

    def add(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs.split(), output.split(), **attributes))

    for kind in "WUb":
        gates = [reorder(weights[f"{name}/{kind}"], "fiou", ONNX_ROWS) for name in names]
        constants[kind] = torch.stack(gates)
    constants["b"] = torch.cat([constants["b"], torch.zeros_like(constants["b"])], 1)
    hidden = constants["U"].shape[2]
    constants["flat"] = torch.tensor([-1, len(names) * hidden])
    add("Gather", "table words", "x")
    way = "bidirectional" if len(names) == 2 else "forward"
    add("LSTM", "x W U b lengths", "y", hidden_size=hidden, direction=way)
    add("Transpose", "y", "by_word", perm=[0, 2, 1, 3])
    add("Reshape", "by_word flat", "padded")
    add("Gather", "padded place", "states")
    last = "states"
    for layer in ("hidden", "output"):
        if f"{layer}/W" in weights:
            constants |= {layer + part: weights[f"{layer}/{part}"] for part in "Wb"}
            add("Gemm", f"{last} {layer}W {layer}b", layer, transB=1)
            last = layer
            if layer == "hidden":
                add("Tanh", layer, "tanh")
                last = "tanh"
    add("LogSoftmax", last, "log_p", axis=1)
    add("GatherElements", "log_p labels", "picked", axis=1)
    add("ReduceSum", "picked", "sum", keepdims=0)
    info = helper.make_tensor_value_info
    inputs = [info("words", TensorProto.INT64, ["T", "B"]), info("lengths", TensorProto.INT32, ["B"]),
              info("place", TensorProto.INT64, ["N"]), info("labels", TensorProto.INT64, ["N", 1])]
    tensors = [numpy_helper.from_array(value.numpy(), name) for name, value in constants.items()]
    outputs = [info("sum", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "loss", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


class OnnxRuntime:
    """Its LSTM takes lengths. Inference only."""

    def __init__(self, weights):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        model = onnx_model(weights).SerializeToString()
        self.session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])

    def infer(self, instances):
        packed = Padded(instances)
        inputs = {"words": packed.matrix(packed.words), "lengths": packed.lengths.astype(np.int32),
                  "place": packed.place, "labels": packed.labels[:, None]}
        return -float(self.session.run(None, inputs)[0])


VARIANTS = {"oneDNN": OneDnn, "ONNX": OnnxRuntime}

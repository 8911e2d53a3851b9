"""An ONNX graph in the making: operators by name, weights as initializers, one method per block of ours."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.nn.attention import MultiHeadAttention
from glassformer.nn.block import Residual
from glassformer.nn.feedforward import FeedForward

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

OPSET, IR_VERSION = 18, 9
_NEVER = -1e9


class Graph:
    """Nodes and weights; values are known by their names."""

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._nodes: list[NodeProto] = []
        self._weights: dict[str, TensorProto] = {}
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def input(self, name: str, kind: type, *shape: str | int) -> str:
        """A value that the caller gives; dimensions are numbers or names."""
        self._inputs.append(_value(name, kind, shape))
        return name

    def output(self, value: str, name: str, *shape: str | int) -> None:
        """A value that the caller gets."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(_value(name, np.float32, shape))

    def op(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The result of an operator."""
        from onnx import helper

        name = f"{operator.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, kind: type = np.float32) -> str:
        """A number or a few, under a name of its own."""
        return self.weight(f"constant_{len(self._weights)}", np.asarray(value, kind))

    def weight(self, name: str, value: Any) -> str:
        """An array of the model; a name stands for one array only."""
        from onnx import numpy_helper

        if name not in self._weights:
            array = value.detach().float().numpy() if isinstance(value, Tensor) else value
            self._weights[name] = numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
        return name

    def build(self, name: str) -> "ModelProto":
        """The finished model, checked by the library."""
        from onnx import checker, helper

        graph = helper.make_graph(
            self._nodes, name, self._inputs, self._outputs, list(self._weights.values())
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="glassformer")
        model.ir_version = IR_VERSION
        checker.check_model(model, full_check=True)
        return model

    def linear(self, x: str, name: str, module: nn.Linear) -> str:
        """X Wᵀ + b."""
        y = self.op("MatMul", x, self.weight(f"{name}.weight", module.weight.T))
        return y if module.bias is None else self.op("Add", y, self.weight(f"{name}.bias", module.bias))

    def norm(self, x: str, name: str, module: nn.LayerNorm | nn.RMSNorm) -> str:
        """A layer norm, or a root-mean-square norm."""
        weight = self.weight(f"{name}.weight", module.weight)
        epsilon = self.config.norm_epsilon
        if isinstance(module, nn.LayerNorm):
            bias = self.weight(f"{name}.bias", module.bias)
            return self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)
        mean = self.op("ReduceMean", self.op("Mul", x, x), self.constant([-1], np.int64), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.constant(epsilon)))
        return self.op("Mul", self.op("Div", x, root), weight)

    def split(self, x: str, n_heads: int, width: int) -> str:
        """(B, L, H · K) to (B, H, L, K)."""
        shape = self.constant([0, 0, n_heads, width], np.int64)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def attend(self, q: str, keys: str, values: str, hidden: str | None) -> str:
        """softmax(QKᵀ/√d_k + mask) V, heads side by side again."""
        config = self.config
        scores = self.op("MatMul", q, self.op("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.op("Mul", scores, self.constant(1 / math.sqrt(config.d_key)))
        if hidden is not None:
            scores = self.op("Add", scores, hidden)
        heads = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        shape = self.constant([0, 0, config.n_heads * config.d_value], np.int64)
        return self.op("Reshape", self.op("Transpose", heads, perm=[0, 2, 1, 3]), shape)

    def project(self, x: str, name: str, module: MultiHeadAttention) -> tuple[str, str]:
        """The keys and values of x."""
        keys = self.split(self.linear(x, f"{name}.key", module.key), module.n_key_heads, module.d_k)
        values = self.split(self.linear(x, f"{name}.value", module.value), module.n_key_heads, module.d_v)
        return keys, values

    def queries(self, x: str, name: str, module: MultiHeadAttention) -> str:
        """The queries of x."""
        return self.split(self.linear(x, f"{name}.query", module.query), module.n_heads, module.d_k)

    def feed_forward(self, x: str, name: str, module: FeedForward) -> str:
        """The position-wise network."""
        wide = self.linear(x, f"{name}.expand", module.expand)
        if module.gate is None:
            wide = self.activate(wide)
        else:
            wide = self.op("Mul", self.activate(self.linear(x, f"{name}.gate", module.gate)), wide)
        return self.linear(wide, f"{name}.contract", module.contract)

    def before(self, x: str, name: str, residual: Residual) -> str:
        """What a sub-layer is given."""
        return x if residual.placement == "post" else self.norm(x, f"{name}.norm", residual.norm)

    def after(self, x: str, y: str, name: str, residual: Residual) -> str:
        """What becomes of a sub-layer's result beside its input."""
        if residual.norm_after is not None:
            y = self.norm(y, f"{name}.norm_after", residual.norm_after)
        total = self.op("Add", x, y)
        return self.norm(total, f"{name}.norm", residual.norm) if residual.placement == "post" else total

    def activate(self, x: str) -> str:
        """The activation of each unit."""
        match self.config.activation:
            case "relu":
                return self.op("Relu", x)
            case "silu":
                return self.op("Mul", x, self.op("Sigmoid", x))
            case "gelu":
                inner = self.op("Erf", self.op("Mul", x, self.constant(math.sqrt(0.5))))
            case "gelu-tanh":
                cube = self.op("Mul", self.op("Mul", x, x), self.op("Mul", x, self.constant(0.044715)))
                scaled = self.op("Mul", self.op("Add", x, cube), self.constant(math.sqrt(2 / math.pi)))
                inner = self.op("Tanh", scaled)
        half = self.op("Mul", x, self.constant(0.5))
        return self.op("Mul", half, self.op("Add", inner, self.constant(1.0)))

    def padding(self, mask: str) -> str:
        """A mask of 1 and 0 as what is added to scores: (B, S) to (B, 1, 1, S)."""
        zeros = self.op("Sub", self.constant(1.0), self.op("Cast", mask, to=1))
        added = self.op("Mul", zeros, self.constant(_NEVER))
        return self.op("Unsqueeze", added, self.constant([1, 2], np.int64))


def _value(name: str, kind: type, shape: tuple[str | int, ...]) -> "ValueInfoProto":
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)

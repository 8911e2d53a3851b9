"""A sentence through the Transformer, every number computed twice: by Glassformer, and by hand beside it.

A tiny untrained model reads "The cat chased the mouse" and guesses at a French translation. On the left
stands what the package computed in that one forward pass, on the right the paper's formulas in plain
Python: lists and ``math``, no torch. Read the output from top to bottom, or this file.

    python examples/by_hand.py [--seed 7]

Ends with exit code 1 if any two numbers differ by more than ``TOLERANCE``.
"""

import argparse
import io
import math
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import getdoc
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.nn import EncoderDecoder, MultiHeadAttention, Sight, explained_attention, probabilities
from glassformer.nn.attention import attention_scores

VOCABULARY = ("<s>", "the", "cat", "chased", "mouse", "le", "chat", "chassait", "la", "souris")
SOURCE = ["The", "cat", "chased", "the", "mouse"]
TARGET = ["<s>", "le", "chat", "chassait", "la"]  # <s> begins a sentence; "souris" should come next

CONFIG = ModelConfig(
    vocab_size=len(VOCABULARY), d_model=8, n_heads=2, d_ff=16, n_encoder_layers=1, n_decoder_layers=1
)
TOLERANCE = 1e-12  # in float64 two right ways to compute a number differ in its last digits only
WIDTH = 118

Vector = list[float]
Matrix = list[Vector]


# --- The formulas, in the order in which the sentence meets them. No torch until the next such line.


def embed(ids: list[int], table: Matrix) -> Matrix:
    """Each word becomes a row of a table of learned numbers (section 3.4).

        E[id] · √d_model

    'The' and 'the' are one word to this model, so their rows are equal.
    """
    scale = math.sqrt(len(table[0]))
    return [[number * scale for number in table[i]] for i in ids]


def position_waves(length: int, d_model: int) -> Matrix:
    """Each place in the sentence gets a pattern of its own (section 3.5).

        PE(pos, 2i) = sin(pos / 10000^(2i/d_model))     PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))

    On the left features change fast from word to word, on the right slowly, like the hands of a clock.
    """

    def wave(position: int, feature: int) -> float:
        angle = position / 10_000 ** ((feature - feature % 2) / d_model)
        return math.cos(angle) if feature % 2 else math.sin(angle)

    return [[wave(position, feature) for feature in range(d_model)] for position in range(length)]


def add_positions(x: Matrix, waves: Matrix) -> Matrix:
    """What a word is and where it stands, in one vector.

        x = E[id] · √d_model + PE(pos)

    This is all that tells the two 'the' apart: attention itself knows no order.
    """
    return add(x, waves)


def project(x: Matrix, weight: Matrix, bias: Vector) -> Matrix:
    """Three views of each word (section 3.2.2): what it asks for, is found by, and hands over.

        Q = x W_Q + b_Q     K = x W_K + b_K     V = x W_V + b_V

    Each head owns d_k of the features, and so asks in its own way. Here is the first.
    """
    return linear(x, weight, bias)


def dot_products(q: Matrix, k: Matrix) -> Matrix:
    """How well each query (row) fits each key (column).

        Q Kᵀ

    Features of the same sign add up, opposite ones take away.
    """
    return [[dot(query, key) for key in k] for query in q]


def scale(scores: Matrix, d_k: int) -> Matrix:
    """Scores of moderate size (section 3.2.1): the more features, the larger the sums that they give.

        Q Kᵀ / √d_k

    Without it a softmax over large scores would be nearly all or nothing, and hardly learn.
    """
    return [[score / math.sqrt(d_k) for score in row] for row in scores]


def hide_the_future(scores: Matrix) -> Matrix:
    """Scores of later words become -∞ (section 3.2.3), of which the softmax makes exactly 0.

        Q Kᵀ / √d_k + mask,  mask = 0 up to the word itself, -∞ behind it

    So all words of the target can be learned from at once, and none sees the one that it is to guess.
    """
    n = len(scores)
    return [[scores[i][j] if j <= i else -math.inf for j in range(n)] for i in range(n)]


def softmax(scores: Matrix) -> Matrix:
    """Each row of scores becomes shares: all positive, 1 in sum.

        softmax(s)ⱼ = exp(sⱼ) / Σᵢ exp(sᵢ)

    Taking the largest score off first changes nothing, and keeps exp from overflowing.
    """
    powers = [[math.exp(score - max(row)) for score in row] for row in scores]
    return [[power / sum(row) for power in row] for row in powers]


def weighted_sum(weights: Matrix, v: Matrix) -> Matrix:
    """Each word takes from the values of all words, by its weights (equation 1, complete).

        Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

    What was about one word only is now about those that it looked at.
    """
    return [[dot(row, feature) for feature in zip(*v, strict=True)] for row in weights]


def attention(q: Matrix, k: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """Weights and output of one head: the four stages above in one."""
    weights = softmax(scale(dot_products(q, k), len(q[0])))
    return weights, weighted_sum(weights, v)


def multi_head(heads: Sequence[Matrix], weight: Matrix, bias: Vector) -> Matrix:
    """All heads side by side (section 3.2.2).

        MultiHead(Q, K, V) = Concat(head₁, …, headₕ) W_O + b_O

    Each head looks in its own way; W_O mixes what they found.
    """
    joined = [list(chain(*rows)) for rows in zip(*heads, strict=True)]
    return linear(joined, weight, bias)


def residual(x: Matrix, sublayer: Matrix) -> Matrix:
    """A sub-layer adds to what is there and does not replace it (section 3.1).

        x + Sublayer(x)

    So a word is not lost on the way up, and gradients have a straight way down.
    """
    return add(x, sublayer)


def layer_norm(x: Matrix, gain: Vector, bias: Vector) -> Matrix:
    """The numbers of each word, brought to mean 0 and variance 1, then to a learned size (section 3.1).

        LayerNorm(x) = (x - mean) / √(variance + ε) · gain + bias

    Whatever was added, the next layer finds numbers in the same moderate range.
    """

    def normed(row: Vector) -> Vector:
        mean = sum(row) / len(row)
        variance = sum((number - mean) ** 2 for number in row) / len(row)
        root = math.sqrt(variance + CONFIG.norm_epsilon)
        return [(number - mean) / root * g + b for number, g, b in zip(row, gain, bias, strict=True)]

    return [normed(row) for row in x]


def add_and_norm(x: Matrix, sublayer: Matrix, gain: Vector, bias: Vector) -> Matrix:
    """The way around a sub-layer and the norm behind it (section 3.1).

        LayerNorm(x + Sublayer(x))

    Every sub-layer of both stacks ends like this.
    """
    return layer_norm(residual(x, sublayer), gain, bias)


def relu(x: Matrix) -> Matrix:
    """Units that look for patterns in each word by itself (section 3.3).

        max(0, x W₁ + b₁)

    A unit that does not find its pattern stays 0.
    """
    return [[max(0.0, number) for number in row] for row in x]


def feed_forward(units: Matrix, weight: Matrix, bias: Vector) -> Matrix:
    """Back to d_model features, which completes equation 2.

        FFN(x) = max(0, x W₁ + b₁) W₂ + b₂

    Each unit that found its pattern adds a direction of its own to the word.
    """
    return linear(units, weight, bias)


def enter_target(ids: list[int], table: Matrix) -> Matrix:
    """The French words said so far, behind a mark of beginning, enter like the source.

        x = E[id] · √d_model + PE(pos)

    After each of them the decoder is to say which word comes next.
    """
    return add_positions(embed(ids, table), position_waves(len(ids), len(table[0])))


def cross_attention(q: Matrix, k: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """The translation looks at the original (section 3.2.3): rows are French, columns English.

        Q = x W_Q + b_Q     K = memory W_K + b_K     V = memory W_V + b_V

    The memory is what the encoder made of the source; the rest is equation 1 again, without a mask.
    """
    return attention(q, k, v)


def logits(x: Matrix, table: Matrix) -> Matrix:
    """How well each hidden state fits each word of the vocabulary (section 3.4).

        x Eᵀ

    E is the embedding table once more: a word is recognised by the numbers that it is made of.
    """
    return dot_products(x, table)


def chances(scores: Matrix) -> Matrix:
    """How likely each word of the vocabulary is to come next, after each word of the target.

        P(next word) = softmax(x Eᵀ)

    Decoding takes a likely one, appends it to the target, and asks again.
    """
    return softmax(scores)


def linear(x: Matrix, weight: Matrix, bias: Vector) -> Matrix:
    """Weighted sums of the features, x W + b. The rows of ``weight`` are the columns of W."""
    return [[dot(row, column) + b for column, b in zip(weight, bias, strict=True)] for row in x]


def add(x: Matrix, y: Matrix) -> Matrix:
    """The sum of two matrices."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(x, y, strict=True)]


def dot(x: Sequence[float], y: Sequence[float]) -> float:
    """The sum of the products."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def split(x: Matrix, n_heads: int) -> list[Matrix]:
    """The features of each head: neighbouring columns."""
    width = len(x[0]) // n_heads
    return [[row[head * width : (head + 1) * width] for row in x] for head in range(n_heads)]


# --- The package's side: a model, and everything that one forward pass computes.


class Observed(NamedTuple):
    """What an attention was shown in the pass that ran, and what its kernel gave."""

    q: Tensor
    k: Tensor
    v: Tensor
    sight: Sight
    heads: Tensor


class Package:
    """One forward pass of the package, with the inputs and outputs of all its layers."""

    def __init__(self, model: EncoderDecoder, source: list[int], target: list[int]) -> None:
        self._calls: dict[str, tuple[Tensor, Tensor]] = {}
        self._observed: dict[str, Observed] = {}
        for name, module in model.named_modules():
            module.register_forward_hook(self._recorder(name))
            if isinstance(module, MultiHeadAttention):
                module.observe = self._observer(name)
        with torch.no_grad():
            self.logits: Tensor = model(torch.tensor([source]), torch.tensor([target]))

    def _recorder(self, name: str) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        def record(_: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            if isinstance(output, Tensor):
                self._calls.setdefault(name, (inputs[0], output))  # the first call

        return record

    def _observer(self, name: str) -> Callable[[Tensor, Tensor, Tensor, Sight, Tensor], None]:
        def observe(q: Tensor, k: Tensor, v: Tensor, sight: Sight, heads: Tensor) -> None:
            self._observed[name] = Observed(q, k, v, sight, heads)

        return observe

    def into(self, name: str) -> Matrix:
        """What a layer was given."""
        return plain(self._calls[name][0][0])

    def out_of(self, name: str) -> Matrix:
        """What a layer gave."""
        return plain(self._calls[name][1][0])

    def head(self, name: str, part: str, head: int) -> Matrix:
        """The queries, keys, values or output of one head, as ``q``, ``k``, ``v`` or ``heads``."""
        return plain(getattr(self._observed[name], part)[0, head])

    def dot_products(self, name: str, head: int) -> Matrix:
        """Scores before scaling: queries longer by √d_k undo the division that the package makes."""
        seen = self._observed[name]
        return plain(attention_scores(seen.q * seen.q.size(-1) ** 0.5, seen.k)[0, head])

    def scores(self, name: str, head: int) -> Matrix:
        """Scores, scaled and masked."""
        seen = self._observed[name]
        return plain(attention_scores(seen.q, seen.k, seen.sight)[0, head])

    def weights(self, name: str, head: int) -> Matrix:
        """Attention weights."""
        seen = self._observed[name]
        return plain(explained_attention(seen.q, seen.k, seen.v, seen.sight)[1][0, head])

    def probabilities(self) -> Matrix:
        """The model's guess at the next word, after each word of the target."""
        return plain(probabilities(self.logits)[0])


class Parameters:
    """The learned numbers of a model as plain lists: all that the hand computation takes from it."""

    def __init__(self, model: EncoderDecoder) -> None:
        self._lists = {name: value.tolist() for name, value in model.state_dict().items()}

    def table(self, name: str) -> Matrix:
        """A matrix without a bias."""
        table: Matrix = self._lists[f"{name}.weight"]
        return table

    def linear(self, name: str) -> tuple[Matrix, Vector]:
        """Weight and bias of a linear map."""
        return self._lists[f"{name}.weight"], self._lists[f"{name}.bias"]

    def norm(self, name: str) -> tuple[Vector, Vector]:
        """Gain and bias of a norm."""
        return self._lists[f"{name}.weight"], self._lists[f"{name}.bias"]


ENCODER, DECODER = "encoder.blocks.0", "decoder.blocks.0"
EMBEDDING, SOURCE_WAVES = "target_embedding", "source_front.positions"  # shared; first called for the source


def build(seed: int) -> EncoderDecoder:
    """A tiny Transformer in float64, drawn from a seed and not trained."""
    torch.manual_seed(seed)
    model = EncoderDecoder(CONFIG).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:  # fresh biases are 0 and gains 1: nobody would see one forgotten
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def plain(x: Tensor) -> Matrix:
    """A matrix as lists."""
    rows: Matrix = x.tolist()
    return rows


# --- The printed page.


@dataclass(frozen=True)
class Table:
    """A matrix computed twice."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    package: Matrix
    by_hand: Matrix

    @property
    def difference(self) -> float:
        """The largest difference of two numbers in the same place."""
        pairs = zip(self.package, self.by_hand, strict=True)
        return max(gap(a, b) for rows in pairs for a, b in zip(*rows, strict=True))

    def lines(self) -> list[str]:
        """The table as text: side by side with as many digits as fit, else one matrix below the other."""
        text: list[str] = []
        for places, beside in ((3, True), (2, True), (3, False), (2, False)):
            no_labels = [""] * len(self.rows)
            left = self._block(self.package, places, f"{self.name}, by Glassformer", self.rows)
            right = self._block(self.by_hand, places, "by hand", no_labels if beside else self.rows)
            side_by_side = [f"{a}   |{b}" for a, b in zip(left, right, strict=True)]
            text = side_by_side if beside else [*left, "", *right]
            if max(map(len, text)) <= WIDTH:
                break
        return [line.rstrip() for line in text]

    def _block(self, matrix: Matrix, places: int, title: str, labels: Sequence[str]) -> list[str]:
        """One matrix under a title and the names of its columns, all lines equally long."""
        margin = max(len(label) for label in labels)
        width = max(places + 4, *(len(name) + 2 for name in self.columns))
        lines = [f"  {title}", " " * (margin + 2) + "".join(f"{name:>{width}}" for name in self.columns)]
        for label, row in zip(labels, matrix, strict=True):
            cells = "".join(f"{number(value, places):>{width}}" for value in row)
            lines.append(f"  {label:{margin}}{cells}")
        return [line.ljust(max(map(len, lines))) for line in lines]


@dataclass
class Lesson:
    """The stages shown so far, each with its largest difference."""

    differences: dict[str, float] = field(default_factory=dict)

    def show(self, title: str, formula: Callable[..., object], *tables: Table, remark: str = "") -> None:
        """Print one stage: what its formula does, its tables, how far both ways to compute it are apart."""
        difference = max(table.difference for table in tables)
        self.differences[title] = difference
        heading = f"{len(self.differences)}. {title}"
        print(f"\n{heading}\n{'-' * len(heading)}", getdoc(formula), sep="\n")
        for table in tables:
            print("", *table.lines(), sep="\n")
        print(f"\n  largest difference {difference:.1e}" + (f"; {remark}" if remark else ""))

    def part(self, title: str) -> None:
        """Print the title of several stages."""
        print(f"\n\n{title.upper()}\n{'=' * len(title)}")

    def close(self) -> bool:
        """Print all differences; True if every one is within the tolerance."""
        worst = max(self.differences.values())
        agree = worst <= TOLERANCE
        self.part("Largest difference of each stage")
        width = max(map(len, self.differences)) + 2
        for i, (title, difference) in enumerate(self.differences.items(), start=1):
            mark = "" if difference <= TOLERANCE else "  <-- too much"
            print(f"  {i:2}. {title:{width}}{difference:.1e}{mark}")
        verdict = "the two computations agree" if agree else "the two computations do NOT agree"
        print(f"\n  overall {worst:.1e}, tolerance {TOLERANCE:.0e}: {verdict}")
        return agree


def number(value: float, places: int) -> str:
    """A number with some decimals, and never as minus zero."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def gap(a: float, b: float) -> float:
    """How far two numbers are apart: equal infinities are not, NaN is infinitely far from everything."""
    if a == b:
        return 0.0
    distance = abs(a - b)
    return math.inf if math.isnan(distance) else distance


# --- The lesson: the encoder reads the source, the decoder writes the target.

INTRODUCTION = f"""\
Source   {" ".join(SOURCE)}   ids {[VOCABULARY.index(word.lower()) for word in SOURCE]}
Target   {" ".join(TARGET)}   ids {[VOCABULARY.index(word) for word in TARGET]}
Model    d_model {CONFIG.d_model}, {CONFIG.n_heads} heads of {CONFIG.d_key}, d_ff {CONFIG.d_ff}, \
one layer each, weights random
Tables   a row is a word; left: from one forward pass of Glassformer; right: the same in plain Python"""


@dataclass(frozen=True)
class Walk:
    """What every stage needs: where to print, the package's numbers, and the parameters."""

    lesson: Lesson
    package: Package
    parameters: Parameters

    def encoder(self) -> Matrix:
        """The memory: a vector for each word of the source, which knows of all the others."""
        self.lesson.part("The encoder reads the source")
        x = self.enter_source()
        x = self.first_sublayer(x, self.self_attention(x))
        return self.feed_forward(ENCODER, SOURCE, x, "Encoder")

    def decoder(self, memory: Matrix) -> Matrix:
        """Hidden states of the target, each of which knows the words before it and the memory."""
        self.lesson.part("The decoder writes the target")
        x = self.enter_target()
        x = self.masked_attention(x)
        x = self.cross_attention(x, memory)
        return self.feed_forward(DECODER, TARGET, x, "Decoder")

    def enter_source(self) -> Matrix:
        """The source as vectors."""
        words = embed(ids_of(SOURCE), self.parameters.table("source_embedding"))
        waves = position_waves(len(SOURCE), CONFIG.d_model)
        x = add_positions(words, waves)

        package, show = self.package, self.lesson.show
        show("Embedding", embed, features("E", SOURCE, package.out_of(EMBEDDING), words))
        show("Positions", position_waves, features("PE", SOURCE, package.out_of(SOURCE_WAVES), waves))
        show("Embedding + position", add_positions, features("x", SOURCE, package.out_of("source_front"), x))
        return x

    def self_attention(self, x: Matrix) -> Matrix:
        """Every word of the source looks at all of them: the first head step by step, then both."""
        name, package, show = f"{ENCODER}.attention", self.package, self.lesson.show
        q, k, v = self.projections(name, x, x)
        parts = zip("qkv", (q[0], k[0], v[0]), strict=True)
        tables = (features(p.upper(), SOURCE, package.head(name, p, 0), by_hand) for p, by_hand in parts)
        show("Queries, keys and values of head 1", project, *tables)

        products = dot_products(q[0], k[0])
        show("Scores", dot_products, looks("Q Kᵀ", SOURCE, package.dot_products(name, 0), products))
        scores = scale(products, CONFIG.d_key)
        show("Scaling", scale, looks("Q Kᵀ / √d_k", SOURCE, package.scores(name, 0), scores))
        weights = softmax(scores)
        table = looks("weights", SOURCE, package.weights(name, 0), weights)
        show("Softmax", softmax, table, remark=most_wanted(weights, SOURCE, SOURCE, 1))
        head = weighted_sum(weights, v[0])
        show("Weighted sum", weighted_sum, features("head 1", SOURCE, package.head(name, "heads", 0), head))

        second_weights, second = attention(q[1], k[1], v[1])
        output = multi_head([head, second], *self.parameters.linear(f"{name}.output"))
        show(
            "Multi-head attention",
            multi_head,
            looks("weights of head 2", SOURCE, package.weights(name, 1), second_weights),
            features("head 2", SOURCE, package.head(name, "heads", 1), second),
            features("MultiHead", SOURCE, package.out_of(name), output),
        )
        return output

    def first_sublayer(self, x: Matrix, attended: Matrix) -> Matrix:
        """The way around the first attention, and its norm."""
        name = f"{ENCODER}.attention_residual.norm"
        total = residual(x, attended)
        self.lesson.show("Residual", residual, features("x + f(x)", SOURCE, self.package.into(name), total))
        normed = layer_norm(total, *self.parameters.norm(name))
        self.lesson.show("Norm", layer_norm, features("LayerNorm", SOURCE, self.package.out_of(name), normed))
        return normed

    def feed_forward(self, block: str, words: Sequence[str], x: Matrix, who: str) -> Matrix:
        """The feed-forward network of a block, the way around it and its norm."""
        name, package, show = f"{block}.feed_forward", self.package, self.lesson.show
        units = relu(linear(x, *self.parameters.linear(f"{name}.expand")))
        silent = sum(unit == 0 for row in units for unit in row)
        table = features("units", words, package.into(f"{name}.contract"), units)
        remark = f"{silent} of {len(units) * len(units[0])} units are 0"
        show(f"{who}: inside the feed-forward network", relu, table, remark=remark)

        output = feed_forward(units, *self.parameters.linear(f"{name}.contract"))
        table = features("FFN", words, package.out_of(name), output)
        show(f"{who}: feed-forward network", feed_forward, table)
        return self.add_and_norm(f"{name}_residual.norm", words, x, output, f"{who}: add and norm")

    def add_and_norm(self, name: str, words: Sequence[str], x: Matrix, output: Matrix, title: str) -> Matrix:
        """The way around a sub-layer and its norm, as one stage."""
        normed = add_and_norm(x, output, *self.parameters.norm(name))
        self.lesson.show(title, add_and_norm, features("LayerNorm", words, self.package.out_of(name), normed))
        return normed

    def enter_target(self) -> Matrix:
        """The target so far, as vectors."""
        x = enter_target(ids_of(TARGET), self.parameters.table("target_embedding"))
        table = features("x", TARGET, self.package.out_of("target_front"), x)
        self.lesson.show("Decoder: the target enters", enter_target, table)
        return x

    def masked_attention(self, x: Matrix) -> Matrix:
        """Every word of the target looks at itself and at those before it."""
        name, package = f"{DECODER}.attention", self.package
        masked, weights, heads = [], [], []
        for q, k, v in zip(*self.projections(name, x, x), strict=True):
            masked.append(hide_the_future(scale(dot_products(q, k), CONFIG.d_key)))
            weights.append(softmax(masked[-1]))
            heads.append(weighted_sum(weights[-1], v))
        output = multi_head(heads, *self.parameters.linear(f"{name}.output"))
        self.lesson.show(
            "Decoder: causal mask",
            hide_the_future,
            looks("scores of head 1", TARGET, package.scores(name, 0), masked[0]),
            looks("weights of head 1", TARGET, package.weights(name, 0), weights[0]),
            features("MultiHead", TARGET, package.out_of(name), output),
        )
        norm = f"{name}_residual.norm"
        return self.add_and_norm(norm, TARGET, x, output, "Decoder: add and norm after self-attention")

    def cross_attention(self, x: Matrix, memory: Matrix) -> Matrix:
        """Every word of the target looks at the whole memory."""
        name, package = f"{DECODER}.cross_attention", self.package
        heads = [cross_attention(*qkv) for qkv in zip(*self.projections(name, x, memory), strict=True)]
        output = multi_head([head for _, head in heads], *self.parameters.linear(f"{name}.output"))
        weights = heads[0][0]
        self.lesson.show(
            "Decoder: attention to the encoder",
            cross_attention,
            Table("weights of head 1", TARGET, SOURCE, package.weights(name, 0), weights),
            features("MultiHead", TARGET, package.out_of(name), output),
            remark=most_wanted(weights, TARGET, SOURCE, 2),
        )
        norm = f"{name}_residual.norm"
        return self.add_and_norm(norm, TARGET, x, output, "Decoder: add and norm after cross-attention")

    def guess(self, x: Matrix) -> None:
        """The next word after each word of the target."""
        self.lesson.part("The next word")
        scores = logits(x, self.parameters.table("output"))
        shares = chances(scores)
        show, package = self.lesson.show, self.package
        show("Logits", logits, Table("logits", TARGET, VOCABULARY, package.out_of("output"), scores))
        table = Table("next word", TARGET, VOCABULARY, package.probabilities(), shares)
        said = VOCABULARY[favourite(shares, -1)]
        remark = f"after '{TARGET[-1]}' it says '{said}': only training could tell it that 'souris' is right"
        show("Probabilities", chances, table, remark=remark)

    def projections(self, name: str, x: Matrix, looked_at: Matrix) -> tuple[list[Matrix], ...]:
        """Queries of x, keys and values of what it looks at; each as a list of heads."""
        parts = (("query", x), ("key", looked_at), ("value", looked_at))
        joined = (project(of, *self.parameters.linear(f"{name}.{part}")) for part, of in parts)
        return tuple(split(heads, CONFIG.n_heads) for heads in joined)


def features(name: str, words: Sequence[str], package: Matrix, by_hand: Matrix) -> Table:
    """A table of words by numbered features."""
    return Table(name, words, [str(i) for i in range(len(by_hand[0]))], package, by_hand)


def looks(name: str, words: Sequence[str], package: Matrix, by_hand: Matrix) -> Table:
    """A table of words by the words that they look at."""
    return Table(name, words, words, package, by_hand)


def ids_of(words: Sequence[str]) -> list[int]:
    """Where the words stand in the vocabulary."""
    return [VOCABULARY.index(word.lower()) for word in words]


def favourite(rows: Matrix, row: int) -> int:
    """The column of a row's largest number."""
    return max(range(len(rows[row])), key=rows[row].__getitem__)


def most_wanted(weights: Matrix, words: Sequence[str], looked_at: Sequence[str], row: int) -> str:
    """A sentence on where a word looks most."""
    column = favourite(weights, row)
    return f"'{words[row]}' looks most at '{looked_at[column]}' ({weights[row][column]:.3f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """The lesson, printed; gives the exit code."""
    parser = argparse.ArgumentParser(
        description="A sentence through the Transformer, by package and by hand."
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the weights (default: %(default)s)")
    model = build(parser.parse_args(arguments).seed)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without √ shows ? instead of failing
    print(INTRODUCTION)
    walk = Walk(Lesson(), Package(model, ids_of(SOURCE), ids_of(TARGET)), Parameters(model))
    walk.guess(walk.decoder(walk.encoder()))
    return 0 if walk.lesson.close() else 1


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # "| head" ends it quietly
    sys.exit(main())

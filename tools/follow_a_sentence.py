"""The page that follows a sentence through the shipped model, docs/follow-a-sentence.md, with its pictures.

``python -m tools.follow_a_sentence`` writes both anew: every number on the page comes from one forward pass.
A test makes the page again and compares the numbers.
"""

import math
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from glassformer.decoding import Translator
from glassformer.nn.masks import causal_mask, padding_mask
from glassformer.nn.positions import sinusoids
from glassformer.probe import Trace, explain

SENTENCE = "The cat chased the mouse."
WORD = 1
"""The token that is looked at: cat."""
PAGE = Path(__file__).parents[1] / "docs" / "follow-a-sentence.md"
PICTURES = PAGE.parent / "images" / "follow"
BLUE, AMBER, VIOLET = "#0072b2", "#e69f00", "#8a4fbf"


def row(values: Tensor, n: int = 6) -> str:
    """The first numbers of a vector."""
    return ", ".join(f"{value:.2f}" for value in values[:n].tolist()) + ", …"


def page(trace: Trace) -> str:
    """The whole text."""
    parts = [
        opening(trace),
        tokens(trace),
        embedding(trace),
        one_score(trace),
        heads(trace),
        masks(),
        crossing(trace),
        output(trace),
        norms(trace),
    ]
    return "\n".join(parts)


def opening(trace: Trace) -> str:
    """What the page is about."""
    config = trace.config
    return f"""\
# Follow a sentence

<!-- Made by python -m tools.follow_a_sentence from the shipped model; do not edit. -->

*{SENTENCE}* becomes *{trace.text}*
This page follows it through the shipped model, step by step as in Figure 1 of *Attention Is All You Need*.
Every number is from that one forward pass: {config.n_encoder_layers} encoder layers, {config.n_decoder_layers} decoder layers, {config.n_heads} heads, d_model {config.d_model}.
The same with your own sentence and every head: `glassformer explore`. The same in plain Python, on a model small enough to print: `python examples/by_hand.py`.
"""  # noqa: E501 - a sentence a line


def tokens(trace: Trace) -> str:
    """Text to ids."""
    pieces = " | ".join(f"`{token.piece}`" for token in trace.source)
    ids = " | ".join(str(token.id) for token in trace.source)
    return f"""\
## Text becomes tokens

A vocabulary of {trace.config.vocab_size:,} pieces was learned from the training text: frequent words are one piece, rare ones several. `▁` begins a word, `</s>` ends the sentence.

| {pieces} |
|{"--:|" * len(trace.source)}
| {ids} |
"""  # noqa: E501


def embedding(trace: Trace) -> str:
    """Ids to vectors, and where they stand."""
    width = trace.config.d_model
    table = trace.model.get_parameter("embedding.weight") if _has_embedding(trace) else _source_table(trace)
    vector = table[trace.source[WORD].id].detach() * math.sqrt(width)
    places = sinusoids(torch.arange(64), width)
    return f"""\
## Tokens become vectors, places are added

Each id is a row of a table of learned numbers, here of {width}. The paper multiplies it by √d_model, so that it is as large as what is added next.

- `{trace.source[WORD].piece}` · √{width} = ({row(vector)})
- place {WORD} = ({row(places[WORD])})
- their sum goes into the first layer.

Without places, attention could not tell *the cat chased the mouse* from *the mouse chased the cat*: it sees a set. The paper's places are sines and cosines whose waves get longer from left to right:

![Positional encodings](images/follow/positions.png)

It is a binary counter with soft digits. The last digit of a number turns over at every step, the one before at every second, and so on; so do the signs of the sines:

![Bits of a counter beside signs of sines](images/follow/counter.png)
"""  # noqa: E501


def one_score(trace: Trace) -> str:
    """One query, one key: dot product, scale, softmax, sum of values."""
    layer, head = 0, 0
    seen = trace.enc[layer].head(head)
    q, keys, d_k = seen.q[0, WORD], seen.k[0], seen.q.size(-1)
    key = 2
    product = float(q @ keys[key])
    scores, weights = seen.scores[0, WORD], seen.weights[0, WORD]
    names = " | ".join(f"`{token.piece}`" for token in trace.source)
    return f"""\
## Queries, keys and values

Each layer makes three vectors of every token, by three learned matrices: a query (what am I looking for), a key (what am I), a value (what do I hand on). In head {head + 1} of encoder layer {layer + 1} they are {d_k} wide.

- q of `{trace.source[WORD].piece}` = ({row(q)})
- k of `{trace.source[key].piece}` = ({row(keys[key])})
- q · k = {product:.2f}; divided by √{d_k} = {math.sqrt(d_k):.2f} it is {product / math.sqrt(d_k):.2f}

The same with every key gives a row of scores, and softmax makes shares of them that sum to 1:

| | {names} |
|---|{"--:|" * len(trace.source)}
| score | {" | ".join(f"{value:.2f}" for value in scores.tolist())} |
| weight | {" | ".join(f"{value:.2f}" for value in weights.tolist())} |

What `{trace.source[WORD].piece}` takes from this head is the sum of all values, each times its weight. The kernel that really ran gave the same to {float(seen.fidelity.max()):.0e}.

Why divide by √d_k? Products of long random vectors are large, and softmax of large numbers gives everything to one key: nothing else can be learned there, since its slope is almost 0.

![Entropy of attention against d_k, with and without the division](images/follow/scale.png)
"""  # noqa: E501


def heads(trace: Trace) -> str:
    """What several heads do."""
    return f"""\
## Heads

{trace.config.n_heads} heads do this side by side, each with its own matrices, and their outputs are joined. Some look at a neighbour, some at the end of the sentence, some spread out. Rows are queries, columns keys; dark is much:

![All heads of the first encoder layer](images/follow/heads.png)

A feed-forward network then works on each token alone, and what came in is added to what comes out of both.
"""  # noqa: E501


def masks() -> str:
    """Who may look at whom."""
    return """\
## Masks

Sentences of a batch are filled up to one length, and nobody may look at the filling. A decoder that learns sees the whole target at once, so that each place must be kept from looking ahead. And the decoder may look at the source, without its filling:

![Padding, causal and cross masks](images/follow/masks.png)
"""  # noqa: E501


def crossing(trace: Trace) -> str:
    """Where the decoder looks in the source."""
    found = trace.alignment()
    pairs = ", ".join(f"{link.target}–{link.source}" for link in found.links)
    return f"""\
## The decoder looks back

The decoder writes one token after the other. In each layer its queries meet keys and values of the *source*: this is where a translation finds its words. The mean of the heads of decoder layer {reading_layer(trace) + 1}:

![Cross-attention of the cat sentence](images/follow/cross.png)

Read as word alignments (target–source, counted from 0): {pairs}.
Attention is not explanation; `glassformer explore` lets you mute a head and see what changes.
"""  # noqa: E501


def output(trace: Trace) -> str:
    """Probabilities of the next token."""
    lines = ["| written so far | next | probability | others |", "|---|---|--:|---|"]
    so_far = ""
    tokenizer = trace.subject.tokenizer
    for step in trace.steps:
        shares = trace.logits[step.step].softmax(-1)
        best = shares.topk(4).indices.tolist()
        told = [f"`{tokenizer.pieces([i])[0]}` {float(shares[i]):.2f}" for i in best if i != step.chosen][:3]
        piece = tokenizer.pieces([step.chosen or 0])[0]
        lines.append(
            f"| {so_far or '–'} | `{piece}` | {float(shares[step.chosen]):.2f} | {', '.join(told)} |"
        )
        so_far = (so_far + piece.replace("▁", " ")).strip()
    body = "\n".join(lines)
    return f"""\
## Probabilities

The last vector is multiplied with the embedding table once more: one number per piece of the vocabulary, and softmax makes probabilities of them. Beam search keeps the few best beginnings instead of only one.

{body}
"""  # noqa: E501


def norms(trace: Trace) -> str:
    """Where the norms stand."""
    return f"""\
## Where the norms stand

The paper normalises after each sum (*post*). Most later models do it before each sub-layer (*pre*), which trains without a warm-up; *sandwich* does both. This model: *{trace.config.norm}*. [benchmarks.md](benchmarks.md) compares them.

![Three places for a norm](images/follow/norms.png)
"""  # noqa: E501


def _has_embedding(trace: Trace) -> bool:
    return "embedding.weight" in dict(trace.model.named_parameters())


def _source_table(trace: Trace) -> Tensor:
    """The table of source embeddings, wherever the model keeps it."""
    named = dict(trace.model.named_parameters())
    size = trace.config.source_vocab_size or trace.config.vocab_size
    shape = (size, trace.config.d_model)
    return next(parameter for parameter in named.values() if parameter.shape == shape)


def pictures(trace: Trace, folder: Path) -> None:
    """All pictures of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_positions(folder / "positions.png", trace.config.d_model)
    draw_counter(folder / "counter.png")
    draw_scale(folder / "scale.png")
    draw_heads(folder / "heads.png", trace)
    draw_masks(folder / "masks.png")
    draw_cross(folder / "cross.png", trace)
    draw_norms(folder / "norms.png")


def save(figure: Figure, path: Path) -> None:
    """As PNG, tightly."""
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})


def draw_positions(path: Path, width: int) -> None:
    """Places against dimensions."""
    figure = Figure(figsize=(8, 3))
    axes = figure.add_subplot()
    image = axes.imshow(
        sinusoids(torch.arange(64), width).numpy(), aspect="auto", cmap="cividis", vmin=-1, vmax=1
    )
    axes.set_xlabel("sines, then cosines: waves get longer to the right")
    axes.set_ylabel("place")
    figure.colorbar(image, ax=axes, shrink=0.8)
    save(figure, path)


def draw_counter(path: Path) -> None:
    """Bits of 0 … 31 beside signs of sines whose waves are 2, 4, 8 … places long."""
    places = torch.arange(32)
    bits = torch.stack([places >> k & 1 for k in range(5)], 1)
    waves = torch.stack([-torch.sin(2 * math.pi * (places + 0.5) / 2 ** (k + 1)) for k in range(5)], 1)
    figure = Figure(figsize=(8, 4))
    for number, (values, title) in enumerate(((bits, "binary digits"), (waves, "sines"))):
        axes = figure.add_subplot(1, 2, number + 1)
        axes.imshow(values.numpy(), aspect="auto", cmap="cividis")
        axes.set_title(title)
        axes.set_xlabel("last digit … first digit" if number == 0 else "short waves … long waves")
        axes.set_ylabel("number" if number == 0 else "place")
        axes.set_xticks([])
    save(figure, path)


def draw_scale(path: Path) -> None:
    """Entropy of the softmax of products of random vectors, against their width."""
    generator = torch.Generator().manual_seed(0)
    widths = [2**k for k in range(1, 11)]
    plain, scaled = list[float](), list[float]()
    for d_k in widths:
        q, k = (torch.randn(400, n, d_k, generator=generator) for n in (1, 16))
        scores = (q @ k.transpose(1, 2))[:, 0]
        for divisor, found in ((1.0, plain), (math.sqrt(d_k), scaled)):
            shares = (scores / divisor).softmax(-1)
            found.append(float(torch.special.entr(shares).sum(-1).mean()))
    figure = Figure(figsize=(6, 3))
    axes = figure.add_subplot()
    axes.plot(widths, scaled, "o-", color=BLUE, label="divided by √d_k")
    axes.plot(widths, plain, "o--", color=AMBER, label="not divided")
    axes.axhline(math.log(16), color="#888888", linewidth=0.8)
    axes.text(2, math.log(16) + 0.05, "all 16 keys alike", color="#666666", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("d_k")
    axes.set_ylabel("entropy of the weights, nats")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def draw_heads(path: Path, trace: Trace) -> None:
    """Every head of the first encoder layer."""
    weights = trace.enc[0].weights
    labels = [token.piece for token in trace.source]
    columns = 4
    rows = math.ceil(len(weights) / columns)
    figure = Figure(figsize=(2.4 * columns, 2.5 * rows))
    for head, matrix in enumerate(weights):
        axes = figure.add_subplot(rows, columns, head + 1)
        axes.imshow(matrix.numpy(), cmap="Blues", vmin=0, vmax=1)
        axes.set_title(f"head {head + 1}", fontsize=9)
        _label(axes, labels, labels)
    figure.tight_layout()
    save(figure, path)


def draw_masks(path: Path) -> None:
    """The masks that the package makes for two sentences of 5 and 3 tokens and a target of 4."""
    lengths = torch.tensor([5, 3])
    padding = padding_mask(lengths, 5)
    shown = (
        (padding[1, 0].expand(5, 5), "encoder, sentence of 3\nfilled up to 5"),
        (causal_mask(4), "decoder: not ahead"),
        (padding[1, 0].expand(4, 5), "decoder to source"),
    )
    figure = Figure(figsize=(8, 2.8))
    for number, (mask, title) in enumerate(shown):
        axes = figure.add_subplot(1, 3, number + 1)
        axes.imshow(mask.reshape(mask.shape[-2:]).numpy(), cmap="Blues", vmin=0, vmax=1.4)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("key")
        axes.set_ylabel("query")
    figure.tight_layout()
    save(figure, path)


def draw_cross(path: Path, trace: Trace) -> None:
    """Target words against source words."""
    layer = trace.cross[reading_layer(trace)]
    figure = Figure(figsize=(5, 4.2))
    axes = figure.add_subplot()
    axes.imshow(layer.weights.mean(0).numpy(), cmap="YlOrBr", vmin=0, vmax=1)
    tokenizer = trace.subject.tokenizer
    written = [tokenizer.pieces([step.chosen])[0] for step in trace.steps if step.chosen is not None]
    _label(axes, [token.piece for token in trace.source], written)
    axes.set_xlabel("source")
    axes.set_ylabel("being written")
    save(figure, path)


def _label(axes: Axes, columns: list[str], rows: list[str]) -> None:
    axes.set_xticks(range(len(columns)), columns, rotation=60, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)


def draw_norms(path: Path) -> None:
    """Post, pre and sandwich as chains of boxes."""
    kinds = {
        "post (the paper)": ["x", "sub-layer", "+ x", "norm"],
        "pre": ["x", "norm", "sub-layer", "+ x"],
        "sandwich": ["x", "norm", "sub-layer", "norm", "+ x"],
    }
    colours = {"norm": VIOLET, "sub-layer": BLUE, "+ x": AMBER, "x": "#888888"}
    figure = Figure(figsize=(8, 2.2))
    axes = figure.add_subplot()
    for line, (kind, boxes) in enumerate(kinds.items()):
        axes.text(-0.2, -line, kind, ha="right", va="center", fontsize=9)
        for place, box in enumerate(boxes):
            style = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colours[box]}
            axes.text(place + 0.5, -line, box, ha="center", va="center", fontsize=9, bbox=style)
            if place:
                arrow = {"arrowstyle": "->", "color": "#888888"}
                axes.annotate("", (place + 0.16, -line), (place - 0.16, -line), arrowprops=arrow)
    axes.set_xlim(-1.6, 5.2)
    axes.set_ylim(-2.6, 0.6)
    axes.axis("off")
    save(figure, path)


def reading_layer(trace: Trace) -> int:
    """The decoder layer whose attention is read as an alignment."""
    if not isinstance(trace.subject, Translator):
        raise TypeError("this page follows a translation")
    return trace.subject.reading.layer


def shipped_trace() -> Trace:
    """The sentence through the shipped model."""
    return explain(Translator.from_pretrained(), SENTENCE)


if __name__ == "__main__":
    made = shipped_trace()
    pictures(made, PICTURES)
    PAGE.write_text(page(made), encoding="utf-8")

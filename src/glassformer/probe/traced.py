"""Everything one pass of a model computed for one text, and questions about what else it might have done."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glassformer.decoding import Target, TextEncoder, Translator
from glassformer.decoding.alignment import Reading
from glassformer.decoding.results import Alignment
from glassformer.decoding.step import log_softmax
from glassformer.decoding.wording import word_alignment
from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.probe.anatomy import Kind, Side, attentions, kinds, stacks
from glassformer.probe.attention_layer import AttentionLayer
from glassformer.probe.capture import Capture, sites
from glassformer.probe.intervention import Causal, Force, HeadRule, Intervention, Keep, Mute, Swap
from glassformer.probe.intervention import read_interventions as read
from glassformer.probe.passing import Goal, Output
from glassformer.probe.question import Answer, Question, Subject, model_of
from glassformer.probe.tokens import ShownToken, shown_tokens, words

if TYPE_CHECKING:
    from glassformer.probe.difference import Difference
    from glassformer.probe.heads import HeadFigures

Head = tuple[Kind, int, int]
"""Kind, layer, head."""

TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Step:
    """What the model thought at one position: of the token that follows, or of the one in a blank."""

    step: int
    """Its row among the logits."""
    chosen: int | None
    """The token that stands there."""
    log_probability: float | None
    rank: int | None
    """Of the chosen one, 1 for the most probable."""
    entropy: float
    """Of the whole distribution, in nats."""
    given: bool = False
    """Part of the prompt."""
    forced: bool = False


class Trace:
    """A real forward pass over a text and its output, with everything it computed.

    ``trace.cross[3].weights[5]`` are the weights of a head, rows are target tokens. ``what_if`` asks again
    with something changed, ``diff`` compares two.
    """

    def __init__(
        self,
        subject: Subject,
        question: Question,
        found: Answer,
        capture: Capture,
        output: Output,
        timings: Mapping[str, float],
    ) -> None:
        self.subject, self.question, self.answer = subject, question, found
        self.capture, self.output, self.timings = capture, output, dict(timings)
        self.model: Transformer = model_of(subject)
        self.config = self.model.config
        self.kinds = kinds(self.model)
        self.importance: dict[Head, float] = {}
        """What ``measure_importance`` has found."""
        layers: dict[Kind, list[AttentionLayer]] = {"enc": [], "dec": [], "cross": []}
        for part in attentions(self.model):
            layers[part.kind].append(AttentionLayer(capture[part.path]))
        self.enc, self.dec, self.cross = (tuple(layers[kind]) for kind in ("enc", "dec", "cross"))

    def layers(self, kind: Kind) -> tuple[AttentionLayer, ...]:
        """The attentions of a kind, first layer first."""
        return {"enc": self.enc, "dec": self.dec, "cross": self.cross}[kind]

    @cached_property
    def source(self) -> tuple[ShownToken, ...]:
        """What the encoder read."""
        tokenizer = self.subject.tokenizer
        return shown_tokens(tokenizer.source if self.dec else tokenizer, self.answer.source)

    @cached_property
    def target(self) -> tuple[ShownToken, ...]:
        """What the decoder was fed; row t of its attentions is about token t and predicts the next."""
        return shown_tokens(self.subject.tokenizer, self.answer.fed)

    def tokens(self, side: Side) -> tuple[ShownToken, ...]:
        """The tokens of a side."""
        return self.source if side == "source" else self.target

    @cached_property
    def text(self) -> str:
        """The output: what follows the input, or the input itself where nothing follows."""
        if isinstance(self.subject, TextEncoder):
            return self.answer.text
        tokenizer, begin = self.subject.tokenizer, self.answer.n_given
        control = tokenizer.control_ids
        said = [*self.answer.fed, *self.answer.labels[len(self.answer.fed) - 1 :]][begin:]
        stream = tokenizer.stream(self.answer.fed[:begin])
        return "".join(stream.feed(token) for token in said if token not in control) + stream.finish()

    @property
    def logits(self) -> Tensor:
        """Over the vocabulary, of each position: (T, V)."""
        if self.output.logits is None:
            raise InputError(f'a model with head = "{self.config.head}" has no logits over the vocabulary')
        return self.output.logits

    @cached_property
    def blanks(self) -> tuple[int, ...]:
        """Where the source has a blank, for a masked language model."""
        mask = self.subject.tokenizer.mask_id
        return tuple(i for i, token in enumerate(self.answer.source) if token == mask and not self.dec)

    @cached_property
    def never(self) -> tuple[int, ...]:
        """Ids that are never chosen: they stand for no text."""
        tokenizer = self.subject.tokenizer
        unused = range(tokenizer.size, self.config.vocab_size)
        if isinstance(self.subject, TextEncoder):
            return (*sorted(tokenizer.control_ids), *unused)
        return self.subject.specials.suppressed

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """For each row of the decoder what it predicts; for a masked language model each blank."""
        if self.output.logits is None:
            return ()
        if isinstance(self.subject, TextEncoder):
            rows = torch.tensor(self.blanks, dtype=torch.long)
            allowed = log_softmax(self.logits[rows]).index_fill(1, torch.tensor(self.never), float("-inf"))
            best: list[int | None] = list(allowed.argmax(-1).tolist())
            return self._steps(self.blanks, best)
        labels = self.answer.labels
        chosen = [labels[t] if t < len(labels) else None for t in range(len(self.answer.fed))]
        return self._steps(range(len(chosen)), chosen)

    @cached_property
    def goal(self) -> Goal:
        """What this pass is measured by when something is changed."""
        if self.output.classes is not None:
            return Goal(label=int(self.output.classes.argmax()))
        if self.output.vector is not None:
            return Goal(vector=self.output.vector)
        chosen = [
            (each.step, each.chosen) for each in self.steps if each.chosen is not None and not each.given
        ]
        rows, ids = zip(*chosen, strict=True) if chosen else ((), ())
        return Goal(torch.tensor(rows, dtype=torch.long), torch.tensor(ids, dtype=torch.long))

    @property
    def log_probability(self) -> float:
        """Of the output, forced tokens included; of the best label or guesses. 1 for a vector."""
        return self.goal.reached(self.output)

    @cached_property
    def head_fidelity(self) -> dict[Kind, list[list[float]]]:
        """How far weights · V, as shown, is from what the fused kernel gave: by kind, layer and head."""
        return {kind: [layer.fidelity.tolist() for layer in self.layers(kind)] for kind in self.kinds}

    @property
    def fidelity(self) -> dict[Kind, float]:
        """The most of it, by kind."""
        return {kind: max(map(max, errors), default=0.0) for kind, errors in self.head_fidelity.items()}

    @cached_property
    def heads(self) -> "list[HeadFigures]":
        """Where the weight of each head lies, in figures, with a label."""
        from glassformer.probe.heads import head_figures

        return head_figures(self)

    @cached_property
    def incremental(self) -> float | None:
        """How far this pass is from the step-by-step decoding of the same output, in log-probability."""
        if not self.answer.decoded or any(isinstance(each, Causal) for each in self.question.interventions):
            return None
        if isinstance(self.subject, Translator) and self.subject.decoder.shortlist is not None:
            return None  # decoding had another distribution: over the shortlist alone
        known = self.answer.hypotheses[self.question.hypothesis].token_log_probabilities
        here = [each.log_probability for each in self.steps if not each.given]
        pairs = [(a, b) for a, b in zip(known, here, strict=False) if b is not None]
        return max((abs(a - b) for a, b in pairs), default=0.0)

    @property
    def faithful(self) -> bool:
        """Whether both differences are within what rounding explains."""
        return max([*self.fidelity.values(), self.incremental or 0.0]) <= TOLERANCE

    @cached_property
    def warnings(self) -> list[str]:
        """What was asked for and could not have an effect."""
        found = []
        for each in self.question.interventions:
            query = getattr(each, "query", None)
            if isinstance(each, HeadRule) and isinstance(query, int):
                n_queries, n_keys = self._size(each.kind)
                if query >= n_queries or getattr(each, "key", 0) >= n_keys:
                    found.append(
                        f"intervention {getattr(each, 'type', '')!r} has no effect: "
                        f"there are {n_queries} queries and {n_keys} keys"
                    )
        return found

    def alignment(self, reading: Reading | None = None, head: int | None = None) -> Alignment:
        """Which source word each target word comes from, as one layer's attention has it."""
        if not isinstance(self.subject, Translator):
            raise InputError("only a model with a source and a target has an alignment between them")
        reading = self.subject.reading if reading is None else reading
        layer = self.cross[reading.layer]
        weights = layer.weights.mean(0) if head is None else layer.head(head).weights[0]
        end = self.subject.specials.end
        ids = tuple(token for token in self.answer.labels if token != end)
        rows = torch.arange(len(ids)) + int(reading.fed)
        chosen = weights[rows.clamp(max=len(weights) - 1)]
        return word_alignment(self.subject.tokenizer, Target(self.answer.source, ids), chosen.numpy())

    def state(self, stack: str, layer: int, site: str) -> Tensor:
        """A state of a block, such as ``state("dec", 0, "cross.sum")``: (T, D)."""
        part = stacks(self.model)[stack]  # type: ignore[index]  # an unknown name is a KeyError, as it should be
        return self.capture.state(f"{part.path}.blocks.{layer}.{site}")[0]

    def sites(self, stack: str) -> list[str]:
        """The states of each block of a stack, in the order of this model."""
        return sites(stacks(self.model)[stack].blocks[0])  # type: ignore[index]  # as above

    def what_if(
        self,
        *interventions: Intervention | Mapping[str, object],
        mute: Iterable[Head] = (),
        keep: Iterable[Head] = (),
        force: Mapping[int, str] | None = None,
        swap: Mapping[int, str] | None = None,
    ) -> "Trace":
        """The same question with something changed; what was changed before stays so.

        ``force`` maps steps to texts, ``swap`` words of the source to others. Everything else that can be
        changed is an intervention, such as ``{"type": "uniform", "kind": "enc", "layer": 0}``.
        """
        asked: list[Intervention | Mapping[str, object]] = [*self.question.interventions, *interventions]
        asked += [Mute(kind=kind, layer=layer, head=head) for kind, layer, head in mute]
        asked += [Keep(kind=kind, layer=layer, head=head) for kind, layer, head in keep]
        asked += [Force(step=step, text=text) for step, text in (force or {}).items()]
        asked += [Swap(word=word, text=text) for word, text in (swap or {}).items()]
        from glassformer.probe.looking import look

        return look(self.subject, replace(self.question, interventions=read(asked), hypothesis=0))

    def diff(self, other: "Trace") -> "Difference":
        """What differs in another trace."""
        from glassformer.probe.difference import Difference

        return Difference(self, other)

    def to_dict(self) -> dict[str, Any]:
        """The readable part as plain data: tokens, steps, alignment, fidelity; no tensors."""
        from glassformer.probe.summary import summary

        return summary(self)

    def save_html(self, path: Path | str, *, full: bool = False) -> Path:
        """Write one HTML file that shows this trace by itself; ``full`` puts every head into it."""
        import glassformer  # the page stands above this part: the package finds it

        target = Path(path)
        target.write_text(glassformer.html_of(self, full=full), encoding="utf-8")
        return target

    @property
    def n_bytes(self) -> int:
        """The memory that the captured tensors take, each counted once."""
        held = [x for passes in self.capture.attentions.values() for seen in passes for x in seen.tensors()]
        held += [x for states in self.capture.states.values() for x in states]
        held += [x for x in self.output if x is not None]
        storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in held}
        return sum(storages.values())

    def __repr__(self) -> str:
        worst = max(self.fidelity.values(), default=0.0)
        said = "" if isinstance(self.subject, TextEncoder) else f" → {self.text!r}"
        sizes = ", ".join(f"{kind} {len(self.layers(kind))}×{self.config.n_heads}" for kind in self.kinds)
        return f"<Trace {self.answer.text!r}{said}; heads {sizes}; Δ {worst:.0e}>"

    def _repr_html_(self) -> str:
        import glassformer

        page = escape(glassformer.html_of(self), quote=True)
        allowed = "allow-scripts allow-downloads"
        style = "width:100%;height:760px;border:0"
        title = escape(self.answer.text, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="{allowed}" style="{style}" title="{title}"></iframe>'

    def _steps(self, rows: Sequence[int], chosen: Sequence[int | None]) -> tuple[Step, ...]:
        known = log_softmax(self.logits[torch.tensor(list(rows), dtype=torch.long)])
        entropy = (-(known.exp() * known).nan_to_num()).sum(-1).tolist()
        found = []
        for place, (row, token) in enumerate(zip(rows, chosen, strict=True)):
            at = row - self.answer.n_given + 1  # its place in the output
            value = None if token is None else float(known[place, token])
            rank = None if token is None else 1 + int((known[place] > known[place, token]).sum())
            given = bool(self.dec) and at < 0
            found.append(Step(row, token, value, rank, entropy[place], given, at in self.answer.forced))
        return tuple(found)

    def _size(self, kind: Kind) -> tuple[int, int]:
        seen = self.layers(kind)[0].seen
        return seen.shared_q.size(2), seen.shared_k.size(2)


def words_of_side(found: Trace, side: Side) -> list[str]:
    """The words of a side."""
    return words(found.tokens(side))

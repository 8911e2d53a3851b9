"""Between hypotheses and texts: what ``Translator`` and ``LanguageModel`` share."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from unicodedata import category

from glassformer.config import DecodeConfig, read
from glassformer.decoding.alignment import Attention, links, word_weights
from glassformer.decoding.engines import Run
from glassformer.decoding.hypothesis import Hypothesis, Specials
from glassformer.decoding.results import Alignment, Scored, Streamed, Text, Token
from glassformer.decoding.targets import Target, TargetScore, word_log_probabilities
from glassformer.errors import InputError
from glassformer.text import TextStream, Tokenizer
from glassformer.text.normalizer import MAX_COMBINING_MARKS

UNREAD = Scored((), (), None, None)
"""The score where there was nothing to read."""

_WORD_BEGINS = "▁"
MUCH_UNKNOWN = 0.5
"""Share of an input in characters that the tokenizer does not know from which on there is a warning."""


def settings(base: DecodeConfig, options: Mapping[str, object], where: str) -> DecodeConfig:
    """The settings of a call: those given, the rest from a base; read as strictly as a file."""
    return read(DecodeConfig, {**base.model_dump(), **options}, where) if options else base


def check_texts(texts: Sequence[str]) -> list[str]:
    """The texts of a call, if they are a list of texts; a lone string is a sequence too, but not meant."""
    if isinstance(texts, str):
        raise InputError("give a list of texts; for one text, put it in a list or call the model itself")
    found = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(f"{place(i, len(found))}this is no text but of type {type(text).__name__}")
    return found


def place(i: int, n: int) -> str:
    """How a message names a text: not at all if there is but one."""
    return f"text {i + 1}: " if n > 1 else ""


def input_warnings(text: str, unknown: float) -> list[str]:
    """What the author of a text should be told: how much of it the model could not see as it was written.

    ``unknown`` is the share that the tokenizer could only spell.
    """
    found = []
    longest = _longest_marks(text)
    if longest > MAX_COMBINING_MARKS:
        found.append(f"of {longest} combining marks in a row {MAX_COMBINING_MARKS} were kept")
    if unknown >= MUCH_UNKNOWN:
        found.append(f"{unknown:.0%} of the input is in characters that the tokenizer does not know")
    return found


def _longest_marks(text: str) -> int:
    """The most combining marks that stand in a row in a text."""
    if text.isascii() or len(text) <= MAX_COMBINING_MARKS:
        return 0
    marks = (category(character).startswith("M") for character in text)
    return max((sum(1 for _ in run) for mark, run in groupby(marks) if mark), default=0)


def specials_of(tokenizer: Tokenizer, vocab_size: int, *, start: int | None = None) -> Specials:
    """The special ids of a tokenizer. What stands for no text is never chosen.

    Nor are ids that the model has room for but the tokenizer does not know.
    """
    end = tokenizer.eos_id
    silent = sorted(i for i in tokenizer.control_ids if i != end)
    unused = range(tokenizer.size, vocab_size)
    return Specials(tokenizer.bos_id if start is None else start, end, tokenizer.pad_id, (*silent, *unused))


def tokens_of(
    tokenizer: Tokenizer, ids: Sequence[int], log_probabilities: Sequence[float]
) -> tuple[Token, ...]:
    """Tokens for people to read; one log-probability more than ids is that of ``</s>``."""
    ended = [*ids, tokenizer.eos_id][: len(log_probabilities)]
    pieces = zip(tokenizer.pieces(ended), ended, log_probabilities, strict=True)
    return tuple(Token(piece, token, value) for piece, token, value in pieces)


def text_of(tokenizer: Tokenizer, found: Hypothesis, after: Sequence[int] = ()) -> Text:
    """A hypothesis as text; ``after`` are ids whose text stands before it."""
    text = tokenizer.stream(after).rest(found.ids) if after else tokenizer.decode(found.ids)
    tokens = tokens_of(tokenizer, found.ids, found.token_log_probabilities)
    return Text(text, found.score, found.log_probability, tokens, found.finished)


def word_alignment(tokenizer: Tokenizer, target: Target, weights: Attention) -> Alignment:
    """The alignment between words, from weights between tokens; ``</s>`` and a language tag have no part."""
    source = tokenizer.source
    silent = set(source.control_ids) - {source.unk_id}
    words = [place for place, token in enumerate(target.input) if token not in silent]
    n_before, stop = (words[0], words[-1] + 1) if words else (len(target.input), len(target.input))
    source_pieces = source.pieces(target.input[n_before:stop])
    target_pieces = tokenizer.pieces(target.ids)
    numbers = [*([-1] * n_before), *word_numbers(source_pieces), *([-1] * (len(target.input) - stop))]
    between = word_weights(weights, numbers, word_numbers(target_pieces))
    return Alignment(
        tuple(words_of(source_pieces)),
        tuple(words_of(target_pieces)),
        tuple(links(between)),
        tuple(map(tuple, between.tolist())),
    )


def word_numbers(pieces: Sequence[str]) -> list[int]:
    """The number of the word that each piece belongs to; words are what spaces divide."""
    numbers, word = [], -1
    for i, piece in enumerate(pieces):
        word += i == 0 or piece.startswith(_WORD_BEGINS)
        numbers.append(word)
    return numbers


def words_of(pieces: Sequence[str]) -> list[str]:
    """The words that pieces make up."""
    words: list[str] = []
    for piece, number in zip(pieces, word_numbers(pieces), strict=True):
        if number == len(words):
            words.append("")
        words[number] += piece.replace(_WORD_BEGINS, "")
    return words


def scored(tokenizer: Tokenizer, ids: Sequence[int], score: TargetScore) -> Scored:
    """What a model thinks of a text, by token, by word and as a whole."""
    values = score.token_log_probabilities
    tokens = tokens_of(tokenizer, ids, values)
    pieces = [token.piece for token in tokens[: len(ids)]]
    numbers = word_numbers(pieces)
    n_words = 1 + max(numbers, default=-1)
    ended = len(values) - len(ids)
    sums = word_log_probabilities(values, [*numbers, *([n_words] * ended)])
    names = [*words_of(pieces), *([tokens[-1].piece] if ended else [])]
    return Scored(tokens, tuple(zip(names, sums, strict=True)), score.log_probability, score.perplexity)


def stream(run: Run, text: TextStream) -> Iterator[Streamed]:
    """The tokens of the only query of a run as they become certain; their texts join to the whole text."""
    sent = 0
    while not run.done:
        run.step()
        known = run.certain(0)
        for token, value in zip(known.ids[sent:], known.log_probabilities[sent:], strict=False):
            yield Streamed(text.feed(token), token, value)
        sent = max(sent, len(known.ids))
    best: Hypothesis = run.results()[0][0]
    for token, value in zip(best.ids[sent:], best.token_log_probabilities[sent:], strict=False):
        yield Streamed(text.feed(token), token, value)
    if rest := text.finish():
        yield Streamed(rest)

"""Sentences that were decoded one by one, put together again."""

import math
from collections.abc import Sequence

from glassformer.decoding.alignment import Link
from glassformer.decoding.results import Alignment, Text
from glassformer.decoding.splitting import Segment

NOTHING = Text("", None, None, (), finished=True)
"""The answer to a blank text, for which no model is asked."""


def join_texts(segments: Sequence[Segment], answers: Sequence[Text]) -> Text:
    """One answer from those of the sentences of a text; the white space between them is the text's own.

    Log-probabilities and scores are sums. The next best text is made of the next best sentences.
    """
    asked = [answer for answer in answers if answer.score is not None]
    if not asked:
        return NOTHING
    if len(segments) == 1:
        return answers[0]
    joined = _together(segments, answers)
    ranks = max(len(answer.alternatives) for answer in asked)
    others = [_together(segments, [_ranked(answer, rank) for answer in answers]) for rank in range(ranks)]
    n_tokens = sum(answer.n_input_tokens for answer in asked)
    return Text(
        joined.text,
        joined.score,
        joined.log_probability,
        joined.tokens,
        joined.finished,
        n_tokens,
        sum(answer.unknown_ratio * answer.n_input_tokens for answer in asked) / n_tokens,
        tuple(dict.fromkeys(warning for answer in asked for warning in answer.warnings)),
        _aligned([answer.alignment for answer in asked if answer.alignment is not None]),
        tuple(others),
    )


def _together(segments: Sequence[Segment], answers: Sequence[Text]) -> Text:
    text = "".join(answer.text + segment.space for segment, answer in zip(segments, answers, strict=True))
    return Text(
        text,
        math.fsum(answer.score or 0.0 for answer in answers),
        math.fsum(answer.log_probability or 0.0 for answer in answers),
        tuple(token for answer in answers for token in answer.tokens),
        all(answer.finished for answer in answers),
    )


def _ranked(answer: Text, rank: int) -> Text:
    """The alternative of a rank; the last one there is, if there are fewer."""
    every = (answer, *answer.alternatives)
    return every[min(rank + 1, len(every) - 1)]


def _aligned(parts: Sequence[Alignment]) -> Alignment | None:
    """Alignments one after the other; nothing in one sentence looks at another."""
    if not parts:
        return None
    found, rows, s, t = [], [], 0, 0
    width = sum(len(part.source) for part in parts)
    for part in parts:
        found += [Link(link.source + s, link.target + t, link.weight) for link in part.links]
        after = width - s - len(part.source)
        rows += [((0.0,) * s) + row + ((0.0,) * after) for row in part.weights]
        s, t = s + len(part.source), t + len(part.target)
    source = tuple(word for part in parts for word in part.source)
    target = tuple(word for part in parts for word in part.target)
    return Alignment(source, target, tuple(found), tuple(rows))

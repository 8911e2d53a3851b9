"""What is decided before a model is asked: how long an output may be, and which inputs go together."""

from collections.abc import Iterator, Sequence

from glassformer.config import DecodeConfig, ModelConfig
from glassformer.decoding.hypothesis import Query
from glassformer.errors import InputError


def output_limit(model: ModelConfig, query: Query, config: DecodeConfig) -> int:
    """The most tokens that the output of a query may have, ``</s>`` included, a forced prefix not."""
    room = model.max_length - len(query.prefix)
    wanted = len(query.ids) + config.max_extra
    if model.family == "decoder-only":
        room -= len(query.ids) - 1
        wanted = max(config.max_extra, 1)
    if room < 1:
        raise InputError(_no_room(query, model))
    return min(room, wanted if config.max_length is None else config.max_length)


def budgeted(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of inputs of similar length, longest first, at most so many padded tokens together."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def check_required(queries: Sequence[Query], limits: Sequence[int], config: DecodeConfig) -> None:
    """Refuse terms that no output could contain."""
    for query, limit in zip(queries, limits, strict=True):
        needed = sum(map(len, dict.fromkeys(query.required)))
        if needed and config.beam_groups > 1:
            raise InputError(
                f"required terms divide the beam themselves; set beam_groups = 1, not {config.beam_groups}"
            )
        for term in query.required:
            for sequence in query.forbidden:
                if _contains(term, sequence):
                    raise InputError("a required term contains a forbidden one; drop one of the two")
        if needed >= limit:
            raise InputError(
                f"the required terms have {needed} tokens, but the output may have {limit}, </s> included; "
                "require less, or set a larger max_length"
            )


def _contains(ids: Sequence[int], part: Sequence[int]) -> bool:
    return any(ids[at : at + len(part)] == part for at in range(len(ids) - len(part) + 1))


def _no_room(query: Query, model: ModelConfig) -> str:
    """Why nothing can be generated."""
    most = model.max_length
    if query.prefix:
        return (
            f"a prefix of {len(query.prefix)} tokens leaves no room in the {most} of max_length; shorten it"
        )
    return f"a prompt of {len(query.ids)} tokens leaves no room in the {most} of max_length; shorten it"

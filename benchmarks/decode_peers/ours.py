"""Glassformer's native engine. Settings: precision, kernels, threads, shortlist."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.decode_peers.worker import END, PAD, START, Decode, Ids, Search, Task, serve
from glassformer.checkpoint import open_model
from glassformer.config import DecodeConfig
from glassformer.decoding.pretrained import read_shortlist
from glassformer.engine import Engine, Manner, Query, Specials


def build(model: str, setting: dict[str, Any], task: Task) -> Decode:
    """An engine; ids without a text are never chosen."""
    with open_model(Path(model)) as files:
        engine = Engine.load(
            files, setting["precision"], kernels=setting.get("kernels"), threads=setting["threads"]
        )
    specials = Specials(START, END, PAD, tuple(task.silent))
    shortlist = read_shortlist(Path(model)) if setting.get("shortlist") else None
    most = engine.config.max_length

    def decode(sources: Sequence[Ids], search: Search) -> list[Ids]:
        config = DecodeConfig(beam=search.beam, alpha=search.alpha, length_penalty="average")
        queries = [Query(tuple(source)) for source in sources]
        limits = [min(task.limit, most)] * len(sources)
        manner = Manner(scores=search.beam > 1, stop_after=search.beam if search.early else 0)
        lists = None if shortlist is None else shortlist.lists(queries, specials)
        answers = engine.decode(queries, limits, config, specials, lists=lists, manner=manner)
        return [list(found[0].ids) for found in answers.hypotheses]

    return decode


if __name__ == "__main__":
    serve(build, ["numpy"])

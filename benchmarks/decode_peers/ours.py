"""Glassformer's native engine. Settings: precision, kernels, threads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.decode_peers.worker import END, PAD, START, Decode, Ids, Task, serve
from glassformer.checkpoint import open_model
from glassformer.config import DecodeConfig
from glassformer.engine import Engine, Manner, Query, Specials


def build(model: str, setting: dict[str, Any], task: Task) -> Decode:
    """An engine; ids without a text are never chosen."""
    with open_model(Path(model)) as files:
        engine = Engine.load(
            files, setting["precision"], kernels=setting.get("kernels"), threads=setting["threads"]
        )
    specials = Specials(START, END, PAD, tuple(task.silent))
    most = engine.config.max_length

    def decode(sources: Sequence[Ids], beam: int, alpha: float) -> list[Ids]:
        config = DecodeConfig(beam=beam, alpha=alpha, length_penalty="average")
        queries = [Query(tuple(source)) for source in sources]
        limits = [min(task.limit, most)] * len(sources)
        # As the peer: it ends a search after so many hypotheses, or without a penalty with the best one.
        manner = Manner(scores=beam > 1, stop_after=beam if alpha else 0)
        answers = engine.decode(queries, limits, config, specials, manner=manner)
        return [list(found[0].ids) for found in answers.hypotheses]

    return decode


if __name__ == "__main__":
    serve(build, ["numpy"])

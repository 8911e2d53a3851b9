"""CTranslate2 on the model that our exporter wrote. Settings: compute_type, inter_threads, intra_threads.

Without a length penalty its beam search ends when the best hypothesis has ended, since none can overtake it:
a complete search. With one it ends as soon as the hypotheses that have ended are as many as the beam is wide.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2

from benchmarks.decode_peers.worker import Decode, Ids, Search, Task, serve


def build(model: str, setting: dict[str, Any], task: Task) -> Decode:
    """A translator. It speaks in pieces, which are looked up while the clock runs, as its users have to."""
    translator = ctranslate2.Translator(model, device="cpu", **setting)
    source_pieces, target_pieces = (_vocabulary(Path(model), side) for side in ("source", "target"))
    numbers = {piece: i for i, piece in enumerate(target_pieces)}
    adds = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    inner = slice(int(adds["add_source_bos"]), -1 if adds["add_source_eos"] else None)

    def decode(sources: Sequence[Ids], search: Search) -> list[Ids]:
        pieces = [[source_pieces[i] for i in source[inner]] for source in sources]  # it adds the others
        found = translator.translate_batch(
            pieces,
            beam_size=search.beam,
            length_penalty=search.alpha,
            max_decoding_length=task.limit,
            max_batch_size=math.ceil(len(sources) / setting["inter_threads"]),  # each worker has its share
            return_scores=search.beam > 1,
        )
        return [[numbers[piece] for piece in each.hypotheses[0]] for each in found]

    return decode


def _vocabulary(model: Path, side: str) -> list[str]:
    shared = model / "shared_vocabulary.json"
    path = shared if shared.is_file() else model / f"{side}_vocabulary.json"
    pieces: list[str] = json.loads(path.read_text(encoding="utf-8"))
    return pieces


if __name__ == "__main__":
    serve(build, ["ctranslate2"])

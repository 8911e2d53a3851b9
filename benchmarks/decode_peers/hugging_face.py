"""Hugging Face ``generate`` on the model that our exporter wrote. Setting: threads.

Its beam search (``early_stopping=False``) ends when it holds as many ended hypotheses as the beam is wide and
the best live one, at its present length, scores below the worst of them: complete without a length penalty.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM

from benchmarks.decode_peers.worker import END, PAD, Decode, Ids, Search, Task, serve


def build(model: str, setting: dict[str, Any], task: Task) -> Decode:
    """The library's own class for the directory."""
    torch.set_num_threads(setting["threads"])
    loaded = AutoModelForSeq2SeqLM.from_pretrained(model, local_files_only=True).eval()

    def decode(sources: Sequence[Ids], search: Search) -> list[Ids]:
        size = max(map(len, sources))
        ids = torch.tensor([[*source, *[PAD] * (size - len(source))] for source in sources])
        mask = torch.tensor([[1] * len(source) + [0] * (size - len(source)) for source in sources])
        with torch.inference_mode():
            found = loaded.generate(
                input_ids=ids,
                attention_mask=mask,
                num_beams=search.beam,
                do_sample=False,
                length_penalty=search.alpha,
                early_stopping=False,
                max_new_tokens=task.limit,
            )
        return [_cut(row[1:]) for row in found.tolist()]

    return decode


def _cut(row: Ids) -> Ids:
    """Up to ``</s>``, without padding."""
    end = row.index(END) if END in row else len(row)
    return [token for token in row[:end] if token != PAD]


if __name__ == "__main__":
    serve(build, ["transformers", "torch"])

"""Write ``tests/data/models/format-<n>``: a model of the current format, and what it says to one sentence.

Run it once for each new format, and commit what it wrote: ``python -m tests.support.make_format_fixture``.
Those of earlier formats stay as they are; that they load is the promise.
"""

import json
from pathlib import Path

import torch

from glassformer.checkpoint import LoadedModel, load_model, save_model
from glassformer.checkpoint.manifest import FORMAT
from glassformer.checkpoint.storage import Storage
from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.nn import EncoderDecoder, build_model
from glassformer.text import Tokenizer

FIXTURE = Path(__file__).parents[1] / "data" / "models" / "format-1"
TEXT = "a cat sleeps"


def fixture_output(loaded: LoadedModel) -> dict[str, object]:
    """The ids of a sentence, and the logits of what may follow the first target token."""
    model, tokenizer = loaded.model, loaded.tokenizer
    if not isinstance(model, EncoderDecoder) or tokenizer is None:
        raise TypeError("the fixture translates")
    ids = tokenizer.encode(TEXT)
    with torch.no_grad():
        logits = model(torch.tensor([ids]), torch.tensor([[tokenizer.bos_id]]))[0, -1]
    return {"text": tokenizer.decode(ids), "ids": list(ids), "logits": logits[-20:].tolist()}


def main() -> None:
    """Write the directories and the output."""
    tokenizer = Tokenizer.train([TEXT, "un chat dort"], TokenizerConfig(kind="char", vocab_size=300))
    torch.manual_seed(1)
    config = ModelConfig(
        vocab_size=tokenizer.size,
        d_model=8,
        d_ff=8,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_length=64,
    )
    model = build_model(config).eval()
    folder = FIXTURE.with_name(f"format-{FORMAT}")
    names: dict[str, Storage] = {"model": "float32", "model-int8": "int8"}
    for name, storage in names.items():
        save_model(
            folder / name, model, tokenizer, card="# A tiny model of random weights\n", storage=storage
        )
    output = json.dumps(fixture_output(load_model(folder / "model")), indent=1)
    (folder / "output.json").write_text(output + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Small models of every family on disk, a run with checkpoints and curves, a client that asks about them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient

from glassformer.checkpoint import CheckpointStore
from glassformer.config.run import resolve
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.explorer import create_app
from glassformer.explorer.guard import Access, Guard
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly
from glassformer.training import RunDirectory
from tests.unit.decoding.texts import random_model, tokenizer


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories ``ed``, ``lm``, ``mlm``, ``cls``, ``emb`` and the run ``trained``."""
    folder = tmp_path_factory.mktemp("models")
    ed, lm = random_model("encoder-decoder"), random_model("decoder-only", positions="rotary", norm="pre")
    assert isinstance(ed, EncoderDecoder) and isinstance(lm, DecoderOnly)
    Translator(ed, tokenizer()).save_pretrained(folder / "ed")
    LanguageModel(lm, tokenizer()).save_pretrained(folder / "lm")
    heads = {"mlm": "masked-lm", "cls": "classifier", "emb": "embedding"}
    for name, head in heads.items():
        model = random_model("encoder-only", head=head, positions="alibi" if name == "cls" else "relative")
        assert isinstance(model, EncoderOnly)
        TextEncoder(model, tokenizer()).save_pretrained(folder / name)
    _write_run(folder, ed)
    return folder


def _write_run(folder: Path, model: EncoderDecoder) -> None:
    run = RunDirectory.create(folder, "trained")
    table = {
        "data": {"train": "train.tsv", "langs": ["en", "fr"]},
        "model": model.config.model_dump(exclude_none=True),
    }
    run.write_settings(resolve(table, "test"))
    tokenizer().save(run.tokenizer)
    store = CheckpointStore(run.checkpoints, keep_last=2)
    for step in (10, 20, 30):
        tensors = {name: value.detach() * (step / 30) for name, value in model.named_parameters()}
        store.save(step, {"model": tensors}, {}, best=step == 20)
    lines = [{"t": 1.0, "step": step, "split": "train", "loss": 9.0 - step / 10} for step in range(1, 31)]
    lines += [{"t": 2.0, "step": 20, "split": "valid", "loss": 4.0, "bleu": 3.5, "ppl": float("inf")}]
    run.metrics.write_text(
        "".join(json.dumps(line) + "\n" for line in lines) + '{"half a li', encoding="utf-8"
    )
    run.note({"status": "training", "step": 30, "machine": "secret", "best": {"loss": 4.0}})
    (run.samples / "step-000020.tsv").write_text(
        "source\treference\thypothesis\tscore\nThe cat.\tLe chat.\tLe chien.\t-1.0\n", encoding="utf-8"
    )


@pytest.fixture(scope="session")
def client(models: Path) -> Iterator[TestClient]:
    names = ("ed", "lm", "mlm", "cls", "emb", "trained-01")
    app = Guard(create_app([models / name for name in names]), Access())
    torch.manual_seed(0)
    with TestClient(app, base_url="http://127.0.0.1:7860") as found:
        yield found

"""Every family, tokenizer and optimizer goes through the same trainer; a model can start from another."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.checkpoint import load_model
from glassformer.config import RunConfig, resolve
from glassformer.errors import CheckpointError, ConfigError
from glassformer.training import precision
from glassformer.workflow.starting import architecture
from tests.support.corpora import WORDS, tiny_run
from tests.support.runs import figures, train

SMALL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1}


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.trainer.draw_run", lambda *_: None)


def write(folder: Path, labelled: bool) -> Mapping[str, Any]:
    """A text, or texts labelled by whether they begin with a colour."""
    choose = random.Random(0)
    paths = {}
    for split, size in (("train", 200), ("valid", 20)):
        lines = [choose.choices(WORDS, k=choose.randint(3, 8)) for _ in range(size)]
        rows = [" ".join(words) + (f"\t{words[0] in WORDS[:3]}" if labelled else "") for words in lines]
        paths[split] = folder / f"{split}.tsv"
        paths[split].write_text("\n".join(rows) + "\n")
    kind = "labelled" if labelled else "text"
    return {split: {kind: str(path)} for split, path in paths.items()}


def config_of(data: Mapping[str, Any], model: Mapping[str, Any], **train: object) -> RunConfig:
    settings = {
        "steps": 6,
        "batch_tokens": 256,
        "validate_every": 3,
        "save_every": 3,
        "log_every": 1,
        "context_length": 16,
        "schedule": "constant",
        "warmup_steps": 0,
        "learning_rate": 3e-3,
    }
    tables = {
        "data": data,
        "tokenizer": {"vocab_size": 260},
        "model": SMALL | dict(model),
        "train": settings | train,
    }
    return resolve(tables, "test")


TASKS: dict[str, tuple[bool, dict[str, Any]]] = {
    "language model": (False, {"preset": "tiny-lm"}),
    "masked language model": (False, {"preset": "tiny-mlm"}),
    "classifier": (True, {"preset": "tiny-mlm", "head": "classifier"}),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_trains_and_is_validated(task: str, tmp_path: Path) -> None:
    labelled, model = TASKS[task]
    run = train(config_of(write(tmp_path, labelled), model, steps=12), tmp_path / "runs")
    valid = [values for split, _, values in figures(run) if split == "valid"]
    losses = [float(str(values["nll"])) for split, _, values in figures(run) if split == "train"]

    assert sum(losses[-3:]) < sum(losses[:3])
    assert ("accuracy" in valid[0]) == labelled
    loaded = load_model(run.model)
    assert loaded.config.labels == (("False", "True") if labelled else ())
    assert loaded.tokenizer is not None


def test_a_masked_language_model_becomes_a_classifier(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    first = train(config_of(write(tmp_path / "text", False), {"preset": "tiny-mlm"}), tmp_path / "a")
    table = architecture(first.model, head="classifier")
    config = config_of(write(tmp_path, True), table, steps=1, learning_rate=1e-9)
    second = train(config, tmp_path / "b", init_from=first.model)
    before, after = load_model(first.model), load_model(second.model)
    given = dict(before.model.named_parameters())
    taken = {name: tensor for name, tensor in after.model.named_parameters() if name in given}

    assert before.tokenizer is not None and after.tokenizer is not None
    assert after.tokenizer.fingerprint == before.tokenizer.fingerprint
    assert {name for name, _ in after.model.named_parameters()} - given.keys() == {
        "classes.weight",
        "classes.bias",
    }
    for name, tensor in taken.items():
        torch.testing.assert_close(tensor, given[name], atol=1e-6, rtol=0)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, steps=1), tmp_path / "runs")
    config = tiny_run(tmp_path, steps=1)
    wider = config.model_copy(update={"model": config.model.model_copy(update={"d_ff": 48})})

    with pytest.raises(CheckpointError) as error:
        train(wider, tmp_path / "runs", init_from=run.model)

    assert str(error.value) == (
        f"{run.model}: encoder.blocks.0.feed_forward.expand.weight is 32×16 there and 48×16 here; "
        "leave the architecture as it is there"
    )


def test_two_vocabularies(tmp_path: Path) -> None:
    base = tiny_run(tmp_path, steps=2)
    tokenizer = base.tokenizer.model_copy(update={"joint": False, "vocab_size": 240})
    model = base.model.model_copy(update={"tying": "two-way"})
    run = train(base.model_copy(update={"tokenizer": tokenizer, "model": model}), tmp_path / "runs")
    loaded = load_model(run.model)

    assert loaded.tokenizer is not None and not loaded.tokenizer.joint
    assert loaded.config.source_vocab_size == loaded.tokenizer.source.size


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "muon"])
def test_every_optimizer_learns(optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if optimizer == "muon" and not precision.bfloat16_works():
        pytest.skip("Muon orthogonalises in bfloat16, which this CPU did not survive in a trial")
    del monkeypatch
    rate = 0.3 if optimizer == "sgd" else 3e-3
    config = tiny_run(tmp_path, optimizer=optimizer, schedule="constant", warmup_steps=0, learning_rate=rate)
    run = train(config, tmp_path / "runs")
    losses = [float(str(values["nll"])) for split, _, values in figures(run) if split == "train"]

    assert losses[-1] < losses[0]


@pytest.mark.parametrize("setting", [{"precision": "bfloat16"}, {"optimizer": "muon"}])
def test_bfloat16_is_refused_where_a_trial_did_not_survive(
    setting: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "bfloat16_works", lambda: False)
    (key, value), *_ = setting.items()

    with pytest.raises(ConfigError) as error:
        train(tiny_run(tmp_path, **setting), tmp_path / "runs")

    assert str(error.value) == (
        f'train: {key} = "{value}" needs bfloat16 products, which a trial on this CPU did not survive; '
        'use precision = "float32" and optimizer = "adamw"'
    )
    assert not (tmp_path / "runs").exists()


def test_bfloat16_trains_where_it_works(tmp_path: Path) -> None:
    if not precision.bfloat16_works():
        pytest.skip("a bfloat16 product did not survive a trial on this CPU")
    run = train(tiny_run(tmp_path, precision="bfloat16", steps=3), tmp_path / "runs")

    assert all(p.dtype == torch.float32 for p in load_model(run.model).model.parameters())


@pytest.mark.long
def test_compiled_trains(tmp_path: Path) -> None:
    run = train(tiny_run(tmp_path, compile=True, steps=3), tmp_path / "runs")
    plain = train(tiny_run(tmp_path, steps=3), tmp_path / "runs")
    losses = [
        [float(str(values["nll"])) for split, _, values in figures(each) if split == "train"]
        for each in (run, plain)
    ]

    assert losses[0] == pytest.approx(losses[1], rel=0.05)  # dropout is drawn otherwise

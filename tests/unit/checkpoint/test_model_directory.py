"""A model directory: what one copies, serves and loads."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from glassformer.checkpoint import LoadedModel, load_model, resolve_model_directory, save_model, verify
from glassformer.checkpoint.storage import Storage
from glassformer.config import ModelConfig
from glassformer.errors import CheckpointError
from glassformer.nn import EncoderDecoder, Transformer, build_model
from tests.support.make_format_fixture import FIXTURE, fixture_output
from tests.support.models import FAMILIES, POSITIONS, encoder_decoder, random_ids, read_ids, tiny_model
from tests.unit.checkpoint.tiny import save_tiny, tiny_tokenizer

CARD = "# A tiny model\n"


def architectures() -> Iterator[dict[str, object]]:
    """Every family with everything that brings parameters of its own."""
    for family in FAMILIES:
        for positions in POSITIONS:
            yield {"family": family, "positions": positions}
        for tying in ("three-way", "two-way", "none"):
            yield {"family": family, "tying": tying, "norm": "sandwich", "output_bias": True}
        yield {"family": family, "gated": True, "norm_kind": "rms", "n_kv_heads": 2, "embedding_norm": True}
    yield {"family": "encoder-only", "head": "classifier"}
    yield {
        "family": "encoder-only",
        "head": "classifier",
        "patches": {"height": 8, "width": 8, "size": 4},
    }


def parameters_equal(one: Transformer, other: Transformer) -> bool:
    ours, theirs = dict(one.named_parameters()), dict(other.named_parameters())
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("settings", [*architectures()], ids=str)
def test_every_architecture_comes_back_bit_for_bit(tmp_path: Path, settings: dict[str, object]) -> None:
    model = tiny_model(**settings)
    save_model(tmp_path / "m", model, None, card=CARD)
    loaded = load_model(tmp_path / "m")

    assert loaded.config == model.config
    assert loaded.tokenizer is None
    assert parameters_equal(model, loaded.model)
    assert set(model.state_dict(keep_vars=True)) == {
        name for name, _ in model.named_parameters(remove_duplicate=False)
    }, "a buffer that is saved with a model would be forgotten here"
    verify(tmp_path / "m")


def test_a_loaded_model_gives_the_same_output_and_is_ready_for_use(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "m", dropout=0.1)
    loaded = load_model(tmp_path / "m")
    ids = random_ids(2, 5)

    assert not loaded.model.training
    assert torch.equal(read_ids(model, ids), read_ids(loaded.model, ids))
    assert loaded.tokenizer is not None
    assert loaded.tokenizer.to_json() == tiny_tokenizer().to_json()


@pytest.mark.parametrize(("tying", "n_matrices"), [("three-way", 1), ("two-way", 2), ("none", 3)])
def test_tied_matrices_are_saved_once_and_are_one_after_loading(
    tmp_path: Path, tying: str, n_matrices: int
) -> None:
    save_model(tmp_path / "m", encoder_decoder(tying=tying), None, card=CARD)
    model = load_model(tmp_path / "m").model
    assert isinstance(model, EncoderDecoder)
    matrices = [model.output.weight, model.target_embedding.weight, model.source_embedding.weight]

    assert (matrices[0] is matrices[1]) == (tying != "none")
    assert (matrices[1] is matrices[2]) == (tying == "three-way")
    assert len({matrix.data_ptr() for matrix in matrices}) == n_matrices
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    assert size < (tmp_path / "m" / "model.safetensors").stat().st_size < size + 20_000


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path: Path, storage: Storage) -> None:
    save_model(tmp_path / "a", encoder_decoder(vocab_size=300), tiny_tokenizer(), card=CARD, storage=storage)
    loaded = load_model(tmp_path / "a")
    save_model(tmp_path / "b", loaded.model, loaded.tokenizer, card=CARD, storage=storage)

    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


def test_int8_is_a_quarter_of_float32_and_close_to_it(tmp_path: Path) -> None:
    model = encoder_decoder(d_model=64, d_ff=128, vocab_size=500)
    sizes = {}
    outputs = {}
    ids = random_ids(2, 7)
    for storage in ("float32", "float16", "int8"):
        save_model(tmp_path / storage, model, None, card=CARD, storage=storage)
        sizes[storage] = (tmp_path / storage / "model.safetensors").stat().st_size
        outputs[storage] = read_ids(load_model(tmp_path / storage).model, ids)
    exact = outputs["float32"]

    assert sizes["float16"] < 0.6 * sizes["float32"]
    assert sizes["int8"] < 0.4 * sizes["float32"]
    assert torch.equal(exact, read_ids(model, ids))
    assert (outputs["float16"] - exact).abs().max() < 0.01
    assert (outputs["int8"] - exact).abs().max() < 0.15
    assert torch.nn.functional.cosine_similarity(outputs["int8"], exact, dim=-1).min() > 0.998


def test_loading_draws_no_random_number(tmp_path: Path) -> None:
    save_tiny(tmp_path / "m")
    before = torch.get_rng_state()
    load_model(tmp_path / "m")

    assert torch.equal(before, torch.get_rng_state())


def test_a_model_in_another_precision_is_saved_as_float32(tmp_path: Path) -> None:
    model = encoder_decoder()
    save_model(tmp_path / "a", model, None, card=CARD)
    save_model(tmp_path / "b", model.double(), None, card=CARD)

    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (
        tmp_path / "b" / "model.safetensors"
    ).read_bytes()


def test_a_model_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    model = encoder_decoder()
    with torch.no_grad():
        model.encoder.blocks[1].feed_forward.expand.bias[3] = float("nan")
    with pytest.raises(CheckpointError) as refused:
        save_model(tmp_path / "m", model, None, card=CARD)

    assert str(refused.value) == (
        f"{tmp_path / 'm'}: 'encoder.blocks.1.feed_forward.expand.bias' is not finite; "
        "such a model is not saved"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_replaced_only_when_asked(tmp_path: Path) -> None:
    save_tiny(tmp_path / "m")
    with pytest.raises(CheckpointError, match="not overwritten"):
        save_tiny(tmp_path / "m")
    model = encoder_decoder(d_model=8)
    save_model(tmp_path / "m", model, None, card=CARD, replace=True)

    assert parameters_equal(load_model(tmp_path / "m").model, model)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_the_card_may_be_completed_and_the_directory_copied(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "m")
    shutil.copytree(tmp_path / "m", tmp_path / "copy")
    (tmp_path / "copy" / "README.md").write_text(CARD + "licence: CC0\n")

    assert parameters_equal(load_model(tmp_path / "copy").model, model)


def test_config_json_is_the_architecture_with_nothing_left_to_defaults(tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "m")
    table = json.loads((tmp_path / "m" / "config.json").read_text())

    assert set(table) == set(ModelConfig.model_fields)
    assert ModelConfig.model_validate(table) == model.config


def test_a_model_of_format_1_gives_the_recorded_output() -> None:
    """P22: what was written once is read for ever."""
    loaded = load_model(FIXTURE / "model")
    recorded = json.loads((FIXTURE / "output.json").read_text(encoding="utf-8"))

    assert_matches(fixture_output(loaded), recorded)
    assert_matches(fixture_output(load_model(FIXTURE / "model-int8")), recorded, atol=0.05)


def assert_matches(output: dict[str, object], recorded: dict[str, object], atol: float = 1e-5) -> None:
    assert (output["text"], output["ids"]) == (recorded["text"], recorded["ids"])
    torch.testing.assert_close(
        torch.tensor(output["logits"]), torch.tensor(recorded["logits"]), rtol=0, atol=atol
    )


def test_a_model_is_found_by_its_path_by_its_run_and_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Path("runs/en-fr/model")
    save_tiny(model)

    assert [resolve_model_directory(path) for path in ("runs/en-fr/model", "runs/en-fr", "en-fr")] == [
        model
    ] * 3
    assert isinstance(load_model(resolve_model_directory("en-fr")), LoadedModel)


def test_a_model_that_is_not_there_is_told_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs/en-fr/checkpoints").mkdir(parents=True)
    Path("runs/empty").mkdir()
    Path("file").touch()
    told = {}
    for path in ("en-fr", "runs/empty", "en-rf", "file", "a/b"):
        with pytest.raises(CheckpointError) as refused:
            resolve_model_directory(path)
        told[path] = (str(refused.value), refused.value.hint)

    assert told == {
        "en-fr": (
            "runs/en-fr: this run has no finished model yet, only checkpoints",
            "glassformer train --resume runs/en-fr",
        ),
        "runs/empty": (
            "runs/empty: no model.safetensors here; "
            "is this the model directory that 'glassformer train' wrote?",
            None,
        ),
        "en-rf": ("en-rf: there is no such directory, nor runs/en-rf; did you mean 'en-fr'?", None),
        "file": ("file: this is a file; name the model directory it stands in", None),
        "a/b": ("a/b: there is no such directory, nor runs/a/b", None),
    }


def test_a_fresh_model_of_the_same_architecture_differs(tmp_path: Path) -> None:
    """So that the equalities above say something."""
    model = save_tiny(tmp_path / "m")

    assert not parameters_equal(load_model(tmp_path / "m").model, build_model(model.config))

"""Exported models are ours: logits, log-probabilities and translations, read by the programs they are for."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.checkpoint import save_model
from glassformer.config import DecodeConfig, TokenizerConfig
from glassformer.decoding import Decoder, Query, Specials
from glassformer.errors import CheckFailed, CheckpointError, ConfigError
from glassformer.interop import export_model, read_ctranslate2, read_model
from glassformer.interop.parity import Probe
from glassformer.nn import EncoderDecoder
from glassformer.text import Tokenizer
from tests.support.foreign_tokenizers import CORPUS, SAMPLE
from tests.support.models import decoder_only, encoder_decoder

for package in ("transformers", "ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="it reads what is exported")

LAYOUTS: dict[str, dict[str, object]] = {
    "marian": {},
    "pegasus": {"norm": "pre", "activation": "gelu-tanh"},
    "bart": {"positions": "learned", "embedding_norm": True, "activation": "gelu", "output_bias": True},
    "mbart": {"positions": "learned", "norm": "pre", "embedding_norm": True, "scale_embedding": False},
}
OTHERS: dict[str, dict[str, object]] = {
    "rms-gated": {"norm": "pre", "norm_kind": "rms", "gated": True, "activation": "silu", "bias": False},
    "untied": {"tying": "none", "positions": "learned", "output_bias": True},
    "two-way": {"tying": "two-way", "activation": "gelu"},
}
SHAPES: dict[str, dict[str, object]] = {
    "sandwich-wide-heads": {"norm": "sandwich", "d_k": 6, "d_v": 3, "activation": "gelu-tanh"},
    "no-positions": {"positions": "none"},
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(CORPUS, TokenizerConfig(kind="bpe", vocab_size=420))


def saved(folder: Path, tokenizer: Tokenizer, **settings: object) -> EncoderDecoder:
    """A random model in a directory."""
    model = encoder_decoder(vocab_size=tokenizer.size, **settings)
    save_model(folder, model, tokenizer, card="")
    return model


@pytest.mark.parametrize("layout", LAYOUTS)
@torch.no_grad()
def test_transformers_reads_what_we_write(layout: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    transformers: Any = import_module("transformers")

    model = saved(tmp_path / "ours", tokenizer, **LAYOUTS[layout])
    report = export_model(tmp_path / "ours", tmp_path / "hf", "hf")
    again = read_model(tmp_path / "hf").model
    probe = Probe.of(model.config, tokenizer.n_control)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "hf"))

    assert report.holds and report.largest_difference <= 1e-4
    assert json.loads((tmp_path / "hf" / "config.json").read_bytes())["model_type"] == layout
    assert json.loads((tmp_path / "hf" / "parity.json").read_bytes()) == report.to_dict()
    assert isinstance(again, EncoderDecoder)
    assert torch.allclose(probe.logits(again), probe.logits(model), atol=1e-5)
    for text in SAMPLE:
        assert theirs(text)["input_ids"] == [*tokenizer.encode(text), tokenizer.eos_id]


@pytest.mark.parametrize("case", LAYOUTS | OTHERS)
@torch.no_grad()
def test_ctranslate2_reads_what_we_write(case: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = saved(tmp_path / "ours", tokenizer, **(LAYOUTS | OTHERS)[case])
    report = export_model(tmp_path / "ours", tmp_path / "ct2", "ctranslate2")

    assert report.holds and report.largest_difference <= 1e-4
    if model.config.norm_epsilon == 1e-5:
        again = read_ctranslate2(tmp_path / "ct2")
        probe = Probe.of(model.config, tokenizer.n_control)
        assert torch.allclose(probe.logits(again), probe.logits(model), atol=1e-4)


def test_ctranslate2_takes_eight_bits(tokenizer: Tokenizer, tmp_path: Path) -> None:
    saved(tmp_path / "ours", tokenizer)
    whole = export_model(tmp_path / "ours", tmp_path / "float32", "ctranslate2")
    small = export_model(tmp_path / "ours", tmp_path / "int8", "ctranslate2-int8")

    assert whole.holds and small.holds
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("float32", "int8")]
    assert sizes[1] < 0.5 * sizes[0]


def test_ctranslate2_finds_what_we_find(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Beam 4 without a length penalty, whose formulas differ."""
    model = saved(tmp_path / "ours", tokenizer, norm="pre", output_bias=True)
    with torch.no_grad():
        model.output.bias[tokenizer.eos_id] += 3.0  # type: ignore[index]
    save_model(tmp_path / "ending", model, tokenizer, card="")
    export_model(tmp_path / "ending", tmp_path / "ct2", "ctranslate2")
    rows = [tokenizer.encode(text) for text in SAMPLE] + [[i, 2 * i, i + 9] for i in range(210, 230)]
    rows = [[token % tokenizer.size for token in row][:20] for row in rows]

    assert translated(tmp_path / "ct2", rows, tokenizer) == found_by_us(model, rows, tokenizer)


def found_by_us(model: EncoderDecoder, rows: list[list[int]], tokenizer: Tokenizer) -> list[list[int]]:
    silent = tuple(i for i in tokenizer.control_ids if i != tokenizer.eos_id)
    specials = Specials(tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id, silent)
    settings = DecodeConfig(beam=4, alpha=0.0, min_length=4, max_length=20)
    queries = [Query((*row, tokenizer.eos_id)) for row in rows]
    return [list(found[0].ids) for found in Decoder((model,), specials).decode(queries, settings)]


def translated(directory: Path, rows: list[list[int]], tokenizer: Tokenizer) -> list[list[int]]:
    ctranslate2: Any = import_module("ctranslate2")

    pieces: Any = tokenizer.raw_pieces
    silent = [[pieces[i]] for i in tokenizer.control_ids if i != tokenizer.eos_id]
    translator = ctranslate2.Translator(str(directory), compute_type="float32")
    results = translator.translate_batch(
        [[pieces[i] for i in row] for row in rows],
        beam_size=4,
        length_penalty=0.0,
        min_decoding_length=3,  # </s> not counted
        max_decoding_length=20,
        suppress_sequences=silent,
    )
    return [[pieces.index(piece) for piece in result.hypotheses[0]] for result in results]


@pytest.mark.parametrize("case", LAYOUTS | OTHERS | SHAPES)
def test_onnxruntime_reads_what_we_write(case: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    saved(tmp_path / "ours", tokenizer, **(LAYOUTS | OTHERS | SHAPES)[case])
    report = export_model(tmp_path / "ours", tmp_path / "onnx", "onnx")

    assert report.holds and report.largest_difference <= 1e-4


@pytest.mark.parametrize(
    ("format", "settings", "reason"),
    [
        ("hf", {"norm_kind": "rms"}, 'norm_kind = "rms"'),
        ("hf", {"gated": True}, "gated = true"),
        ("hf", {"norm_epsilon": 1e-6}, "norm_epsilon = 1e-06, where theirs is 1e-05"),
        ("hf", {"tying": "none"}, 'tying = "none"'),
        (
            "hf",
            {"positions": "learned"},
            'positions = "learned", norm = "post" and embedding_norm = false do not occur together',
        ),
        ("ctranslate2", {"positions": "rotary"}, 'positions = "rotary"'),
        ("ctranslate2", {"norm": "sandwich"}, 'norm = "sandwich"'),
        ("onnx", {"positions": "alibi"}, 'positions = "alibi" act inside attention'),
        ("onnx", {"n_kv_heads": 2}, "n_kv_heads = 2"),
    ],
)
def test_what_no_layout_holds_is_refused(
    format: str, settings: dict[str, object], reason: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    saved(tmp_path / "ours", tokenizer, **settings)
    titles = {
        "hf": "no layout of Hugging Face holds this model: ",
        "ctranslate2": "CTranslate2 cannot hold this model: ",
        "onnx": "our ONNX graphs cannot hold this model: ",
    }
    with pytest.raises(CheckpointError) as caught:
        export_model(tmp_path / "ours", tmp_path / "out", format)

    assert str(caught.value) == titles[format] + reason
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours"]


@pytest.mark.parametrize("format", ["hf", "ctranslate2", "onnx"])
def test_failed_parity_leaves_nothing(
    format: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "ours", tokenizer)
    module = {"hf": "export_hugging_face", "onnx": "export_onnx"}.get(format, format)
    monkeypatch.setattr(f"glassformer.interop.{module}.FLOAT32", -1.0)
    with pytest.raises(CheckFailed, match="the exported model differs from ours by"):
        export_model(tmp_path / "ours", tmp_path / "out", format)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["ours"]


def test_only_encoder_decoders_are_exported(tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(tmp_path / "lm", decoder_only(vocab_size=tokenizer.size), tokenizer, card="")
    with pytest.raises(CheckpointError) as caught:
        export_model(tmp_path / "lm", tmp_path / "out", "hf")

    where = tmp_path / "lm"
    expected = f'{where}: this is a model of family = "decoder-only"; only encoder-decoders are exported'
    assert str(caught.value) == expected


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        export_model(tmp_path, tmp_path / "out", "onxx")

    known = "hf, ctranslate2, ctranslate2-int8, onnx"
    assert str(caught.value) == f"--to onxx: should be one of {known}; did you mean 'onnx'?"

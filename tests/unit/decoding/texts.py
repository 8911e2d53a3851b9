"""Small models of text with a tokenizer, random or taught, for tests of text in and text out."""

from functools import cache

import torch

from glassformer.config import ModelConfig, TokenizerConfig
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.nn import DecoderOnly, EncoderDecoder, EncoderOnly, build_model
from glassformer.text import Tokenizer

CORPUS = [
    "The cat sat on the mat.",
    "A dog is sleeping near 42 houses.",
    "Le chat s'assit sur le tapis !",
    "日本語です。 Привет, мир! 👨‍👩‍👧 🇫🇷 é à",
] * 4
SMALL = {
    "d_model": 16,
    "d_ff": 24,
    "n_heads": 2,
    "n_encoder_layers": 2,
    "n_decoder_layers": 2,
    "dropout": 0.0,
    "max_length": 40,
}


@cache
def tokenizer(*languages: str) -> Tokenizer:
    return Tokenizer.train(CORPUS, TokenizerConfig(vocab_size=320, languages=languages))


@cache
def random_model(family: str, **settings: object) -> EncoderDecoder | DecoderOnly | EncoderOnly:
    torch.manual_seed(4)
    table = {**SMALL, "family": family, "vocab_size": tokenizer().size, **settings}
    model = build_model(ModelConfig.model_validate(table))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def translator() -> Translator:
    model = random_model("encoder-decoder")
    assert isinstance(model, EncoderDecoder)
    return Translator(model, tokenizer())


def language_model() -> LanguageModel:
    model = random_model("decoder-only")
    assert isinstance(model, DecoderOnly)
    return LanguageModel(model, tokenizer())


def text_encoder(**settings: object) -> TextEncoder:
    model = random_model("encoder-only", **settings)
    assert isinstance(model, EncoderOnly)
    return TextEncoder(model, tokenizer())

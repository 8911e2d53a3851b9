"""The architecture: exactly the switches that the three families and their relatives need."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from glassformer.config.preset import preset_table
from glassformer.config.strict import Strict, read

Probability = Annotated[float, Field(ge=0, lt=1)]
Family = Literal["encoder-decoder", "decoder-only", "encoder-only"]
Positions = Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "none"]


class PatchConfig(Strict):
    """Images as the encoder's input: each square patch becomes one position."""

    height: PositiveInt
    """Rows of an image, in pixels."""
    width: PositiveInt
    """Columns of an image, in pixels."""
    channels: PositiveInt = 1
    """Numbers per pixel: 1 for grey, 3 for colour."""
    size: PositiveInt
    """Side of a patch, in pixels."""

    @model_validator(mode="after")
    def _patches_tile_the_image(self) -> Self:
        for name, side in (("height", self.height), ("width", self.width)):
            if side % self.size:
                raise ValueError(
                    f"size = {self.size} does not divide {name} = {side}; patches must tile the image"
                )
        return self


class ModelConfig(Strict):
    """The architecture. The defaults are the base model of the paper's Table 3."""

    family: Family = "encoder-decoder"
    """Which of the three Transformers this is."""
    vocab_size: PositiveInt
    """How many token ids there are, special ones included; of the target side if the two differ."""
    source_vocab_size: PositiveInt | None = None
    """Ids of the source side where it has a vocabulary of its own; else the vocabulary is shared."""
    max_length: PositiveInt = 1024
    """Longest sequence, in tokens. Learned positions end there; elsewhere it is the limit for input."""
    d_model: PositiveInt = 512
    """Width of a hidden state."""
    d_ff: PositiveInt = 2048
    """Width inside the feed-forward network."""
    n_heads: PositiveInt = 8
    """Attentions side by side in each layer."""
    n_kv_heads: PositiveInt | None = None
    """Heads of keys and values, each shared by a group of query heads; unset: one per head."""
    d_k: PositiveInt | None = None
    """Width of a query and of a key in one head; unset: d_model / n_heads."""
    d_v: PositiveInt | None = None
    """Width of a value in one head; unset: d_model / n_heads."""
    n_encoder_layers: PositiveInt = 6
    """Blocks of the encoder; without meaning for decoder-only models."""
    n_decoder_layers: PositiveInt = 6
    """Blocks of the decoder; without meaning for encoder-only models."""
    positions: Positions = "sinusoidal"
    """How a token knows its place: added to embeddings, turning q and k, added to scores, or not at all."""
    rotary_base: Annotated[float, Field(gt=1)] = 10_000.0
    """Base of the wavelengths of rotary positions."""
    relative_buckets: Annotated[int, Field(ge=4)] = 32
    """Learned biases per head for relative positions (T5)."""
    relative_max_distance: PositiveInt = 128
    """Distance from which all relative positions share the last bucket (T5)."""
    norm: Literal["post", "pre", "sandwich"] = "post"
    """Normalise after each residual sum as published, before each sub-layer, or before and after it."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """Layer norm, or root-mean-square norm without mean and bias."""
    norm_epsilon: Annotated[float, Field(gt=0)] = 1e-5
    """Added to the variance before its root is taken."""
    embedding_norm: bool = False
    """Normalise the sum of embedding and position once, before the first block (BERT, BART)."""
    activation: Literal["relu", "gelu", "gelu-tanh", "silu"] = "relu"
    """Inside the feed-forward network; gelu is exact, gelu-tanh its approximation."""
    gated: bool = False
    """Multiply the activation by a second linear map of the input (GLU)."""
    bias: bool = True
    """Linear maps of attention and feed-forward have a bias."""
    output_bias: bool = False
    """The projection to the vocabulary has a bias."""
    tying: Literal["three-way", "two-way", "none"] = "three-way"
    """Which matrices are one: source and target embedding and output; target embedding and output; none."""
    scale_embedding: bool = True
    """Multiply embeddings by √d_model (section 3.4)."""
    dropout: Probability = 0.1
    """Share dropped of each sub-layer's output and of the embeddings (section 5.4)."""
    attention_dropout: Probability = 0.0
    """Share of attention weights dropped."""
    activation_dropout: Probability = 0.0
    """Share of feed-forward units dropped."""
    layer_drop: Probability = 0.0
    """Chance that a block is skipped in a training step."""
    head: Literal["masked-lm", "classifier", "embedding"] = "masked-lm"
    """What an encoder-only model is for."""
    n_classes: Annotated[int, Field(ge=2)] = 2
    """Labels of a classifier."""
    labels: Annotated[tuple[str, ...], Field(strict=False)] = ()  # TOML has lists
    """Their names, in the order of the classifier's outputs; unset: they are numbered."""
    pooling: Literal["mean", "first"] = "mean"
    """How an encoder-only model makes one vector of many: mean of the tokens, or the first one."""
    patches: PatchConfig | None = None
    """Set: an encoder-only model reads images instead of token ids."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for contradiction in self._contradictions():
            raise ValueError(contradiction)
        return self

    def _contradictions(self) -> Iterator[str]:
        """Everything that two or more keys together make impossible, worst first."""
        d_model, n_heads = self.d_model, self.n_heads
        if (self.d_k is None or self.d_v is None) and d_model % n_heads:
            yield f"n_heads = {n_heads} does not divide d_model = {d_model}; change one, or set d_k and d_v"
        if n_heads % self.n_key_heads:
            yield f"n_kv_heads = {self.n_kv_heads} does not divide n_heads = {n_heads}; groups must be equal"
        if self.source_vocab_size is not None:
            yield from self._vocabulary_contradictions()
        if self.labels and len(self.labels) != self.n_classes:
            yield f"labels has {len(self.labels)} names for n_classes = {self.n_classes}; they must agree"
        yield from self._position_contradictions()
        if self.patches is not None:
            yield from self._patch_contradictions()

    def _vocabulary_contradictions(self) -> Iterator[str]:
        if self.family != "encoder-decoder":
            yield f'source_vocab_size has no meaning for family = "{self.family}"; remove it'
        if self.tying == "three-way" and self.n_source_ids != self.vocab_size:
            yield (
                f'tying = "three-way" needs one vocabulary, but source_vocab_size = {self.source_vocab_size} '
                f'and vocab_size = {self.vocab_size}; set tying = "two-way"'
            )

    def _position_contradictions(self) -> Iterator[str]:
        if self.positions == "rotary" and self.d_key % 2:
            yield f"rotary positions turn pairs, but d_k = {self.d_key} is odd; choose an even d_k"
        if self.positions == "sinusoidal" and self.d_model % 2:
            yield f"sines and cosines come in pairs, but d_model = {self.d_model} is odd; choose an even one"
        if self.positions == "relative" and self.relative_max_distance <= self.relative_buckets // 2:
            yield (
                f"relative_max_distance = {self.relative_max_distance} must be more than half of "
                f"relative_buckets = {self.relative_buckets}"
            )

    def _patch_contradictions(self) -> Iterator[str]:
        if self.family != "encoder-only":
            yield f'patches are read by family = "encoder-only", not by "{self.family}"'
        if self.head == "masked-lm":
            yield 'head = "masked-lm" guesses words, but patches are no words; set head = "classifier"'
        if self.n_patches > self.max_length:
            yield f"max_length = {self.max_length} is less than the {self.n_patches} patches of an image"

    @classmethod
    def preset(cls, name: str, **overrides: object) -> Self:
        """A named architecture, any key of it replaced: ``ModelConfig.preset("tiny", vocab_size=8000)``."""
        return read(cls, preset_table(name) | overrides, f"preset {name}")

    @property
    def d_key(self) -> int:
        """The paper's d_k."""
        return self.d_k or self.d_model // self.n_heads

    @property
    def d_value(self) -> int:
        """The paper's d_v."""
        return self.d_v or self.d_model // self.n_heads

    @property
    def n_key_heads(self) -> int:
        """Heads of keys and values."""
        return self.n_kv_heads or self.n_heads

    @property
    def n_source_ids(self) -> int:
        """Ids of the source side."""
        return self.source_vocab_size or self.vocab_size

    @property
    def n_patches(self) -> int:
        """Positions of an image; 0 for text."""
        p = self.patches
        return 0 if p is None else (p.height // p.size) * (p.width // p.size)

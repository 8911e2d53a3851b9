"""How a request wants to be decoded, as the settings that the package knows, within the server's limits."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from glassformer.config import DecodeConfig, read
from glassformer.errors import ConfigError
from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem
from glassformer.serving.requests import Decoding

if TYPE_CHECKING:
    from glassformer.serving.hosting import Host


def decode_config(base: DecodeConfig, body: Decoding, limits: Limits) -> DecodeConfig:
    """The settings of a model, replaced by those of a request."""
    options: dict[str, Any] = {
        "nbest": body.nbest,
        "min_length": body.min_tokens,
        "split": False,
        "coverage": 0.0,
    }
    if body.max_tokens is not None:
        options["max_length"] = body.max_tokens
    if body.alpha is not None:
        options["alpha"] = body.alpha
    if body.beam is not None:
        options["beam"] = body.beam
    if body.sampling is not None:
        options |= body.sampling.model_dump() | {"beam_groups": 1, "diversity": 0.0}
    elif base.sampling and body.beam is not None:  # a beam is a wish to search
        options |= {"temperature": None, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    config = _read(base, frozenset(options.items()))
    _check(config, limits)
    if body.stream and config.nbest > 1:
        raise Problem("invalid_parameter", f"nbest = {config.nbest} cannot be streamed; set nbest = 1")
    return config


def language_of(host: "Host", source: str | None, target: str | None) -> str | None:
    """The tag that asks for a target language; None where a model has but one."""
    for name, code, place in (("source", source, 0), ("target", target, 1)):
        known = sorted({pair[place] for pair in host.languages})
        if code is not None and code not in known:
            told = ", ".join(known) or "not told by this model; leave it out"
            raise Problem("invalid_parameter", f"{name}: this language is not known; known: {told}")
    tagged: tuple[str, ...] = host.tool.tokenizer.languages
    return target if target in tagged else None


@lru_cache(maxsize=256)
def _read(base: DecodeConfig, options: frozenset[tuple[str, Any]]) -> DecodeConfig:
    """The settings, checked; most requests ask for what others have asked for before."""
    try:
        return read(DecodeConfig, {**base.model_dump(), **dict(options)}, "request")
    except ConfigError as error:
        raise Problem("invalid_parameter", str(error)) from None


def _check(config: DecodeConfig, limits: Limits) -> None:
    most = {"max_length": limits.max_output_tokens, "min_length": limits.max_output_tokens}
    most |= {"nbest": limits.max_samples} if config.sampling else {"beam": limits.max_beam}
    for name, limit in most.items():
        value = getattr(config, name)
        if value is not None and value > limit:
            shown = {"max_length": "max_tokens", "min_length": "min_tokens"}.get(name, name)
            raise Problem("invalid_parameter", f"{shown} = {value} is more than the {limit} of this server")

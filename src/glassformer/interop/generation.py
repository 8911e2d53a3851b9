"""How a foreign model asks to be decoded: its generation_config.json as settings of ours."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from glassformer.config import DecodeConfig, ModelConfig, read
from glassformer.errors import CheckpointError, ConfigError
from glassformer.interop.settings import LENGTH, Settings

_MOST_BEAMS = 128
_HIGHEST = 1e6
_NEUTRAL: dict[str, tuple[object, ...]] = {  # values of settings we do not follow with which they do nothing
    "early_stopping": (None, False, "never"),
    "num_beam_groups": (None, 1),
    "diversity_penalty": (None, 0, 0.0),
    "penalty_alpha": (None, 0, 0.0),
    "typical_p": (None, 1, 1.0),
    "encoder_no_repeat_ngram_size": (None, 0),
    "encoder_repetition_penalty": (None, 1, 1.0),
    "exponential_decay_length_penalty": (None,),
    "suppress_tokens": (None, []),
    "begin_suppress_tokens": (None, []),
    "forced_decoder_ids": (None, []),
    "sequence_bias": (None, {}),
    "guidance_scale": (None, 1, 1.0),
}


@dataclass(frozen=True)
class Generation:
    """Settings of ours that a foreign directory asks for, and what it asks for in vain."""

    decode: DecodeConfig | None
    """None where the directory says nothing that we follow."""
    notes: tuple[str, ...] = ()


def read_generation(
    generation: Settings, model: Settings, config: ModelConfig, n_forced: int = 0
) -> Generation:
    """The settings of generation_config.json; of config.json where there is no such file.

    Only what is written there counts: our own settings hold for the rest. Their lengths include the start
    and the ``n_forced`` tokens that every output begins with, ours do not.
    """
    settings = generation if generation.table else model
    if config.family == "encoder-only":
        return Generation(None)
    found: dict[str, Any] = {}
    notes: list[str] = []
    for wanted in (_search(settings), _sampling(settings), _repeats(settings)):
        found |= wanted
    found |= _lengths(settings, config, n_forced)
    for name, (least, most) in {
        "alpha": (-2, 5),
        "temperature": (0, 2),
        "repetition_penalty": (1, 10),
        "top_k": (0, 1000),
    }.items():
        if name in found and not least <= found[name] <= most:
            nearest = min(max(found[name], least), most)
            notes.append(f"{name} = {found[name]} is beyond ours; it was taken as {nearest}")
            found[name] = nearest
    notes += _unfollowed(settings)
    if not found:
        return Generation(None, tuple(notes))
    try:
        return Generation(read(DecodeConfig, found, settings.where), tuple(notes))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None


def _search(settings: Settings) -> dict[str, Any]:
    """Their sums of log-probabilities are divided by length^length_penalty, where 1 is what they assume."""
    found: dict[str, Any] = {}
    if settings.table.get("num_beams") is not None:
        found["beam"] = settings.size("num_beams", _MOST_BEAMS)
    if settings.table.get("length_penalty") is not None or found.get("beam", 1) > 1:
        found |= {"alpha": settings.real("length_penalty", _HIGHEST, 1.0), "length_penalty": "average"}
    return found


def _sampling(settings: Settings) -> dict[str, Any]:
    if not settings.flag("do_sample", False):
        return {}
    found = {
        "temperature": settings.real("temperature", _HIGHEST, 1.0),
        "top_k": _count(settings, "top_k", 50),
    }
    for name in ("top_p", "min_p"):
        if settings.table.get(name) is not None:
            found[name] = settings.real(name, 1.0, 1.0)
    return found


def _repeats(settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if size := _count(settings, "no_repeat_ngram_size", 0):
        found["no_repeat_ngram"] = size
    if settings.table.get("repetition_penalty") is not None:
        found["repetition_penalty"] = settings.real("repetition_penalty", _HIGHEST, 1.0)
    return found


def _lengths(settings: Settings, config: ModelConfig, n_forced: int) -> dict[str, Any]:
    """``max_new_tokens`` counts what is new, ``max_length`` the start too, and prompts, which differ."""
    found: dict[str, Any] = {}
    new = settings.table.get("max_new_tokens") is not None
    translates = config.family == "encoder-decoder"
    if new:
        found["max_length"] = settings.size("max_new_tokens", LENGTH) - n_forced
    elif translates and settings.table.get("max_length") is not None:
        found["max_length"] = settings.size("max_length", LENGTH) - 1 - n_forced
    if "max_length" in found:
        found["max_length"] = max(1, found["max_length"])
    least = 0
    if translates:
        least = _count(settings, "min_length", 0) - n_forced
    if settings.table.get("min_new_tokens") is not None:
        least = max(least, _count(settings, "min_new_tokens", 0) + 1 - n_forced)
    if least > 0:
        found["min_length"] = min(least, found.get("max_length", least))
    return found


def _unfollowed(settings: Settings) -> Iterator[str]:
    for name, neutral in _NEUTRAL.items():
        if settings.table.get(name) in neutral:
            continue
        why = (
            "a search here ends when nothing better can come" if name == "early_stopping" else "we have none"
        )
        yield f"{name} of {settings.where.rpartition('/')[2]} is not followed: {why}"


def _count(settings: Settings, name: str, default: int) -> int:
    return settings.size(name, LENGTH, default, least=0)

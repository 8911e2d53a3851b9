"""Which foreign architectures are read, by the model_type of their config.json."""

from collections.abc import Callable, Mapping

from glassformer.errors import CheckpointError
from glassformer.interop.bart import bart, marian, mbart, pegasus
from glassformer.interop.bert import Pooling, bert, distilbert
from glassformer.interop.causal import gpt2, llama
from glassformer.interop.directory import ForeignDirectory
from glassformer.interop.recipe import Plan
from glassformer.interop.settings import Settings
from glassformer.interop.t5 import t5

Reader = Callable[[Settings, Mapping[str, object]], Plan]

_READERS: dict[str, Reader] = {
    "marian": marian,
    "pegasus": pegasus,
    "t5": t5,
    "bart": bart,
    "mbart": mbart,
    "gpt2": gpt2,
    "llama": llama,
    "mistral": llama,
}
_ENCODERS = {"bert": bert, "distilbert": distilbert}
MODEL_TYPES = (*_READERS, *_ENCODERS)


def plan_of(directory: ForeignDirectory, settings: Settings, names: Mapping[str, object]) -> Plan:
    """How the model of a directory becomes one of ours."""
    kind = settings.word("model_type", MODEL_TYPES)
    if kind in _READERS:
        return _READERS[kind](settings, names)
    return _ENCODERS[kind](settings, names, pooling_of(directory))


def pooling_of(directory: ForeignDirectory) -> Pooling | None:
    """How a sentence encoder makes one vector of many; None where the directory is no sentence encoder."""
    name = "1_Pooling/config.json"
    if not directory.has("1_Pooling"):
        return None
    if (directory.path / "1_Pooling").is_symlink():
        raise CheckpointError(f"{directory.path}/1_Pooling: this is a symbolic link; put the directory there")
    table = directory.json(name)
    mode = table.get("pooling_mode")
    modes = {key for key, value in table.items() if key.startswith("pooling_mode_") and value is True}
    if modes == {"pooling_mode_mean_tokens"} or mode == "mean":
        return "mean"
    if modes == {"pooling_mode_cls_token"} or mode == "cls":
        return "first"
    raise CheckpointError(
        f"{directory.path / name}: only pooling by the mean or by the first token can be imported"
    )

"""The models of a server: loaded in the background, and found by their name or by what they do."""

import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glassformer.errors import GlassformerError
from glassformer.serving.limits import Limits
from glassformer.serving.problems import Problem
from glassformer.serving.telemetry import Metrics, log
from glassformer.serving.worker import Worker

if TYPE_CHECKING:
    from glassformer.decoding import LanguageModel, TextEncoder, Translator

Tool = Any
"""A Translator, LanguageModel or TextEncoder; naming them here would import torch before the port is open."""

_TITLE = re.compile(r"\(([a-z]{2,3}) → ([a-z]{2,3})(?:, [^)]+)?\)")
_NAMED_PAIR = re.compile(r"(?:^|[._-])([a-z]{2})-([a-z]{2})(?:$|[._-])")


@dataclass
class Host:
    """A model, or what will be one."""

    name: str
    directory: Path | None
    created: int
    state: Literal["loading", "ready", "failed"] = "loading"
    tool: Tool = None
    family: str | None = None
    languages: tuple[tuple[str, str], ...] = ()
    max_length: int = 0
    n_parameters: int | None = None

    @property
    def engine(self) -> str | None:
        """Who answers; None while the model is being loaded."""
        if self.tool is None:
            return None
        name: str = self.tool.engines.name if hasattr(self.tool, "engines") else "pytorch"
        return name

    @property
    def translator(self) -> "Translator":
        """The tool of an encoder-decoder."""
        found: Translator = self.tool
        return found

    @property
    def language_model(self) -> "LanguageModel":
        """The tool of a decoder-only model."""
        found: LanguageModel = self.tool
        return found

    @property
    def text_encoder(self) -> "TextEncoder":
        """The tool of an encoder-only model."""
        found: TextEncoder = self.tool
        return found


class Hosts:
    """All models of a server."""

    def __init__(
        self,
        models: tuple[tuple[str, Path | None], ...],
        worker: Worker,
        metrics: Metrics,
        *,
        quantize: bool = False,
    ) -> None:
        """With ``quantize`` models are multiplied in int8, however they are stored."""
        now = int(time.time())
        self._quantize = quantize
        self._hosts = {name: Host(name, directory, now) for name, directory in models}
        self._worker, self._metrics = worker, metrics

    def __iter__(self) -> Any:
        return iter(self._hosts.values())

    @classmethod
    def ready_made(cls, tools: dict[str, Tool], worker: Worker, metrics: Metrics) -> "Hosts":
        """Hosts of models that are already in memory."""
        hosts = cls(tuple((name, None) for name in tools), worker, metrics)
        for name, tool in tools.items():
            hosts._settle(hosts._hosts[name], tool)
        return hosts

    def load(self) -> threading.Thread:
        """Begin to load; the thread ends when every model is there or has failed."""
        thread = threading.Thread(target=self._load, name="glassformer-load", daemon=True)
        thread.start()
        return thread

    @property
    def ready(self) -> bool:
        """Whether every model can be asked."""
        return all(host.state == "ready" for host in self._hosts.values())

    def find(self, name: str | None, *families: str) -> Host:
        """A model by its name, or the first of a fitting family."""
        if name is not None and name not in self._hosts:
            known = ", ".join(self._hosts)
            raise Problem("not_found", f"there is no model of this name; there are: {known}")
        candidates = list(self._hosts.values()) if name is None else [self._hosts[name]]
        for family in families:
            for host in candidates:
                if host.family == family:
                    return host
        for host in candidates:
            if host.state == "loading":
                raise Problem("loading", "the model is being loaded", retry_after=2)
            if host.state == "failed":
                raise Problem("model_failed", "the model could not be loaded; see the log", retry_after=30)
        loaded = ", ".join(f"{host.name} ({host.family})" for host in candidates)
        wanted = " or ".join(families)
        raise Problem("not_found", f"this route needs a model of family {wanted}; loaded: {loaded}")

    def _load(self) -> None:
        for host in self._hosts.values():
            if host.state != "loading":
                continue
            started = time.perf_counter()
            try:
                self._settle(host, self._read(host.directory))
            except GlassformerError as error:
                host.state = "failed"
                log("model failed", model=host.name, reason=str(error))
            except Exception:
                host.state = "failed"
                log("model failed", exc_info=True, model=host.name)
            else:
                log("model loaded", model=host.name, seconds=round(time.perf_counter() - started, 2))

    def _read(self, directory: Path | None) -> Tool:
        from glassformer.decoding import load
        from glassformer.decoding.pretrained import shipped_model

        place = shipped_model() if directory is None else directory
        return load(place, engine="native", precision="int8") if self._quantize else load(place)

    def _settle(self, host: Host, tool: Tool) -> None:
        """Make a loaded model known; ``state`` comes last, since others look at it."""
        from glassformer.decoding.sessions import EngineSession

        config = tool.model.config if hasattr(tool, "model") else tool.engines.config
        host.tool, host.max_length = tool, config.max_length
        host.languages = _languages(host, tool)
        host.n_parameters = _n_parameters(tool)
        if config.family != "encoder-only":
            self._worker.host(host.name, lambda: EngineSession(tool.engines))
        host.family = config.family
        host.state = "ready"
        self._metrics.model_loaded.labels(host.name).set(1)


def host_for(hosts: Hosts, source: str | None, target: str) -> str | None:
    """The first model for a pair of languages; None leaves the complaint to whoever reads the request."""
    for host in hosts:
        for pair in host.languages:
            if pair[1] == target and source in (None, pair[0]):
                return str(host.name)
    return None


def limits_of(host: Host, limits: Limits) -> dict[str, float]:
    """The limits that hold for a model."""
    found: dict[str, float] = limits.model_dump()
    if host.max_length:
        found["max_input_tokens"] = min(limits.max_input_tokens, host.max_length - 2)
        found["max_output_tokens"] = min(limits.max_output_tokens, host.max_length)
    return found


def _n_parameters(tool: Tool) -> int:
    if hasattr(tool, "engines"):
        generating: int = tool.engines.n_parameters
        return generating
    return sum(parameter.numel() for parameter in tool.model.parameters())


def _languages(host: Host, tool: Tool) -> tuple[tuple[str, str], ...]:
    """Source and target, from the title of the model card or the name of the model; none if neither says."""
    pair = _card_languages(host.directory) or _NAMED_PAIR.search(host.name)
    if pair is None:
        return ()
    source, target = pair.groups()
    targets = tool.tokenizer.languages or (target,)
    return tuple((source, each) for each in targets)


def _card_languages(directory: Path | None) -> re.Match[str] | None:
    from glassformer.checkpoint import resolve_model_directory
    from glassformer.decoding.pretrained import shipped_model

    try:
        place = shipped_model() if directory is None else resolve_model_directory(directory)
        with (place / "README.md").open(encoding="utf-8") as card:
            return _TITLE.search(card.readline(500))
    except (OSError, UnicodeDecodeError, GlassformerError):
        return None

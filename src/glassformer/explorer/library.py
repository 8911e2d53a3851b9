"""The models that are open, each loaded when it is first asked."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

from glassformer.config import DecodeConfig
from glassformer.decoding import LanguageModel, TextEncoder, Translator
from glassformer.explorer.answers import Missing, Problem
from glassformer.explorer.limits import Limits
from glassformer.explorer.requests import TraceRequest, check_text
from glassformer.explorer.runs import Checkpoint, Run, open_runs
from glassformer.explorer.traces import Kept, TraceStore, trace_id
from glassformer.probe import Question, Subject, look
from glassformer.probe.intervention import Swap
from glassformer.probe.question import swapped
from glassformer.text import Tokenizer


class Library:
    """Runs by name, their models, and the traces made with them. For one thread."""

    def __init__(self, directories: list[Path], limits: Limits | None = None) -> None:
        self.limits = Limits() if limits is None else limits
        self.runs = open_runs(directories)
        self.traces = TraceStore(self.limits.cache_bytes)
        self._tokenizers: dict[tuple[str, int], Tokenizer] = {}
        self._open: OrderedDict[tuple[str, str, str], Subject] = OrderedDict()

    @property
    def default(self) -> str | None:
        """The run that is meant where none is named."""
        return next(iter(self.runs), None)

    def run(self, name: str | None) -> Run:
        """The run of that name."""
        wanted = self.default if name is None else name
        if wanted is None or wanted not in self.runs:
            known = ", ".join(self.runs) or "none"
            raise Missing(f"there is no run {wanted!r}; open are {known}")
        return self.runs[wanted]

    def subject(self, run: Run, checkpoint: Checkpoint) -> Subject:
        """The model of a checkpoint, from memory or from disk."""
        key = (run.id, checkpoint.id, run.fingerprint(checkpoint))
        if key not in self._open:
            self._open[key] = run.subject(checkpoint)
            while len(self._open) > self.limits.models:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]

    def tokenizer(self, run: Run) -> Tokenizer:
        """The tokenizer of a run; no weights are read for it."""
        places = [run.directory / "tokenizer.json"]
        if run.model_directory is not None:
            places.insert(0, run.model_directory / "tokenizer.json")
        for place in places:
            if place.is_file():
                key = (str(place), place.stat().st_mtime_ns)
                if key not in self._tokenizers:
                    self._tokenizers[key] = Tokenizer.load(place)
                return self._tokenizers[key]
        raise Missing(f"run {run.id!r} has no tokenizer")

    def trace(self, request: TraceRequest) -> tuple[Kept, bool]:
        """The trace that a request asks for, and whether it is new."""
        run = self.run(request.run)
        checkpoint = run.checkpoint(request.checkpoint)
        check_text(request.source, self.limits)
        check_text(request.target or "", self.limits, "target")
        if len(request.interventions) > self.limits.interventions:
            raise Problem(
                422, f"{len(request.interventions)} interventions; the most are {self.limits.interventions}"
            )
        subject = self.subject(run, checkpoint)
        base = DecodeConfig() if isinstance(subject, TextEncoder) else subject.decode
        config = request.config(base, self.limits)
        asked: dict[str, Any] = request.model_dump(mode="json") | {
            "run": run.id,
            "checkpoint": checkpoint.id,
            "decode": config.model_dump(mode="json"),
        }
        name = trace_id(asked, run.fingerprint(checkpoint))
        if name in self.traces:
            return self.traces.get(name), False
        self._check_length(subject, request)
        question = Question(
            request.source,
            request.target,
            None if isinstance(subject, TextEncoder) else config,
            request.hypothesis,
            request.interventions,
            request.language,
        )
        found = look(subject, question)
        kept = Kept(name, run.id, checkpoint.id, checkpoint.step, asked, found)
        self.traces.add(kept)
        return kept, True

    def _check_length(self, subject: Subject, request: TraceRequest) -> None:
        tokenizer = subject.tokenizer.source if isinstance(subject, Translator) else subject.tokenizer
        text = request.source
        if any(isinstance(each, Swap) for each in request.interventions):
            text = swapped(tokenizer, Question(text, interventions=request.interventions))
            check_text(text, self.limits)
        tagged = request.language is not None or len(subject.tokenizer.languages) > 1
        marks = 1 + tagged if isinstance(subject, Translator) else 2
        n_source = len(tokenizer.encode(text)) + marks
        n_target = len(subject.tokenizer.encode(request.target or "")) + 1
        if isinstance(subject, LanguageModel):
            n_source, n_target = n_source + n_target, 0
        for n_tokens, name in ((n_source, "source"), (n_target, "target")):
            if n_tokens > self.limits.tokens:
                raise Problem(
                    422,
                    f"a {name} of {n_tokens} tokens is longer than the {self.limits.tokens} "
                    "that the explorer shows; shorten it",
                )

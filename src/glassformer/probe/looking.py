"""From a question to a trace: the answer is decoded, then one pass over it is looked at."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from glassformer.decoding import TextEncoder
from glassformer.decoding.generation import evaluating
from glassformer.decoding.wording import settings
from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.probe.capture import Capture, trace
from glassformer.probe.intervening import Changes, intervening
from glassformer.probe.intervention import Intervention
from glassformer.probe.intervention import read_interventions as read
from glassformer.probe.passing import Output, run_pass
from glassformer.probe.question import Answer, Question, Subject, answer, model_of
from glassformer.probe.traced import Trace


def explain(
    subject: Subject,
    text: str,
    *,
    target: str | None = None,
    interventions: Sequence[Intervention | Mapping[str, object]] = (),
    **options: Any,
) -> Trace:
    """Decode a text, then look at everything that one pass over it and its output computes.

    ``target`` is an output to look at instead of the model's own; options are those of decoding.
    """
    if isinstance(subject, TextEncoder):
        if options:
            raise InputError(f"an encoder-only model decodes nothing; leave {', '.join(options)} out")
        return look(subject, Question(text, target, interventions=read(interventions)))
    language = options.pop("language", None)
    config = settings(subject.decode, options, "explain")
    return look(subject, Question(text, target, config, 0, read(interventions), language))


@torch.inference_mode()
def look(subject: Subject, question: Question) -> Trace:
    """Answer a question and look inside while one pass runs over the answer."""
    model = model_of(subject)  # refuses an ensemble before any work
    begin = time.perf_counter()
    found = answer(subject, question)
    middle = time.perf_counter()
    capture, output = observe(model, found, question.interventions)
    timings = {"decode": middle - begin, "trace": time.perf_counter() - middle}
    return Trace(subject, question, found, capture, output, timings)


def observe(
    model: Transformer, found: Answer, interventions: Sequence[Intervention] = ()
) -> tuple[Capture, Output]:
    """One pass under the interventions with all it computes."""
    with evaluating([model]), intervening(model, interventions) as changes, trace(model) as capture:
        output = run_pass(model, found)
    _note_changes(capture, changes)
    return capture, output


def _note_changes(capture: Capture, changes: Changes) -> None:
    for path, heads in changes.heads.items():
        seen = capture.attentions[path]
        seen[-1] = replace(seen[-1], changed_context=heads, changed_weights=changes.weights[path])

"""``glassformer doctor`` and ``info``: whether this machine is fine, and what a model is."""

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from glassformer import __version__
from glassformer.cli.data import Json
from glassformer.cli.report import show, show_json, table
from glassformer.errors import CheckFailed

Mark = Literal["ok", "note", "bad"]
SIGNS: dict[Mark, str] = {"ok": "✓", "note": "!", "bad": "✗"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    mark: Mark
    what: str
    said: str


Markdown = Annotated[bool, typer.Option("--markdown", help="A table to paste into a bug report.")]


def info(
    run: Annotated[Path | None, typer.Argument(help="A run, a model directory, or a name.")] = None,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """What a run or a model is: family, sizes, vocabulary, scores, files; without one, the installation."""
    if run is None:
        doctor(markdown=markdown, as_json=as_json)
        return
    from glassformer.workflow.description import describe_model

    found = describe_model(run)
    engine = _engine_of(found.model)
    if as_json:
        show_json({**found.to_dict(), "engine": engine})
        return
    rows = [
        ("path", found.path),
        ("model", found.architecture),
        ("parameters", f"{found.parameters:,} ({found.memory_bytes / 1e6:.1f} MB loaded)"),
        ("vocabulary", f"{found.vocabulary:,} ids, {found.tokenizer} tokenizer"),
        ("languages", " → ".join(found.languages)),
        ("labels", ", ".join(found.labels)),
        ("max length", f"{found.max_length:,} tokens"),
        ("engine", engine),
        ("trained", f"{found.status}, step {found.step:,}" if found.step else found.status),
        ("scores", "  ".join(f"{name} {value:.2f}" for name, value in found.scores.items())),
        *(("file", f"{found.model}/{name}, {size:,} bytes") for name, size in found.files.items()),
    ]
    told = [(what, said) for what, said in rows if said]
    if markdown:
        show("| what | found |\n|---|---|")
        for what, said in told:
            show(f"| {what} | {said} |")
    else:
        for line in table(told):
            show(line)


def doctor(markdown: Markdown = False, as_json: Json = False) -> None:
    """Look at Python, torch, arithmetic, threads and disk; exit with 5 if something is wrong."""
    findings = list(examine())
    if as_json:
        show_json([finding._asdict() for finding in findings])
    elif markdown:
        show("| | what | found |\n|---|---|---|")
        for mark, what, said in findings:
            show(f"| {SIGNS[mark]} | {what} | {said} |")
    else:
        for mark, what, said in findings:
            show(f" {SIGNS[mark]} {what:<12} {said}")
    bad = [finding for finding in findings if finding.mark == "bad"]
    if bad:
        raise CheckFailed(f"{bad[0].what}: {bad[0].said}")


def examine() -> Iterator[Finding]:
    """Every finding, the quick ones first."""
    import torch

    from glassformer.training import bfloat16_works

    yield Finding("ok", "glassformer", __version__)
    yield Finding("ok", "python", platform.python_version())
    yield Finding("ok", "torch", str(torch.__version__))
    yield _native()
    yield _attention()
    yield _products()
    yield Finding("ok", "threads", f"{torch.get_num_threads()} of {_cores()} cores")
    if torch.cuda.is_available():
        yield Finding("ok", "gpu", torch.cuda.get_device_name())
    else:
        yield Finding("note", "gpu", "none: presets tiny and small are sensible here")
    if bfloat16_works():
        yield Finding("ok", "bfloat16", "works")
    else:
        yield Finding("note", "bfloat16", 'a trial did not survive: keep precision = "float32"')
    free = shutil.disk_usage(Path()).free / 1e9
    yield Finding("ok" if free > 1 else "note", "disk", f"{free:.1f} GB free here")


def _engine_of(model: str) -> str:
    """Who would answer for a model directory, and in which precision."""
    from glassformer.checkpoint import open_model
    from glassformer.engine import Engine, NotNative

    try:
        with open_model(Path(model)) as files:
            return Engine.load(files).name
    except NotNative as reason:
        return f"pytorch ({reason})"


def _native() -> Finding:
    """Whether the native engine was built, and the kernels that this CPU lets it use."""
    from glassformer.engine import NotNative, describe_kernels

    try:
        return Finding("ok", "native", f"kernels {describe_kernels()}")
    except NotNative as reason:
        return Finding("note", "native", f"{reason}: PyTorch serves")


def _attention() -> Finding:
    """The fused kernel of this torch on this CPU against the plain formula."""
    import torch

    from glassformer.nn import Sight, attention, explained_attention

    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 4, 33, 16, generator=generator) for _ in range(3))
    sight = Sight(causal=True)
    difference = float((attention(q, k, v, sight) - explained_attention(q, k, v, sight)[0]).abs().max())
    mark: Mark = "ok" if difference < 1e-5 else "bad"
    return Finding(mark, "attention", f"fused = plain within {difference:.0e}")


def _products() -> Finding:
    """Who multiplies while training: the native library, compared with PyTorch, or PyTorch alone."""
    import torch

    from glassformer.nn.native import native_library
    from glassformer.nn.products import product

    if native_library() is None:
        return Finding("note", "training", "by PyTorch: the native kernels need AVX-512 and a compiler")
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(200, 300, generator=generator), torch.randn(300, 100, generator=generator)
    difference = float((product(a, b) - a @ b).abs().max())
    mark: Mark = "ok" if difference < 1e-3 else "bad"
    return Finding(mark, "training", f"native products = PyTorch's within {difference:.0e}")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

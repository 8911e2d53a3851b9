"""glassformer translate --ray: a whole file on a cluster."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.cli.progress import LineProgress
from glassformer.cli.report import console, say
from glassformer.errors import ConfigError


def on_ray(
    address: str,
    models: Sequence[Path] | None,
    source: Path | None,
    out: Path | None,
    options: Mapping[str, Any],
) -> None:
    """Translate a file into another one, and say how it went."""
    from glassformer.bulk import Job, translate_file
    from glassformer.decoding.pretrained import shipped_model
    from glassformer.text.lines import read_lines

    if source is None or out is None:
        raise ConfigError("--ray translates a file into a file; name them with -i and -o")
    if models and len(models) > 1:
        raise ConfigError("--ray takes one model, not an ensemble; give -m once")
    job = Job(source, out, models[0] if models else shipped_model(), options)
    total = sum(1 for _ in read_lines(source))
    progress: LineProgress | None = None

    def moved(shards: int) -> None:
        nonlocal progress
        done = min(shards * job.lines_per_shard, total)
        progress = progress or LineProgress(console(), total, done)
        progress.moved(done)

    n_lines = translate_file(job, address, moved)
    say(f"wrote {n_lines:,} lines to {out}")

"""A corpus through Ray Data: shards go to workers wherever they are, and come back to be written here."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from glassformer.bulk.shards import Shards
from glassformer.checkpoint import resolve_model_directory
from glassformer.checkpoint.manifest import MANIFEST
from glassformer.errors import ConfigError

LOCAL = "local"
"""The address of a cluster that is started for the job, on this machine."""

_AT_ONCE = 256
"""Shards handed to Ray at a time: memory does not grow with the corpus."""


@dataclass(frozen=True)
class Job:
    """What is to be translated, and how."""

    source: Path
    output: Path
    model: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of ``Translator.translate`` by name."""
    lines_per_shard: int = 500
    """Lines that a worker translates at a time, and that are done again should it die."""
    workers: int = 2
    """Processes that translate."""
    threads: int = 1
    """Cores of each."""


def translate_file(job: Job, address: str = LOCAL, progress: Callable[[int], None] = lambda _: None) -> int:
    """Translate a file line by line on a Ray cluster, in order, every line once; gives the number of lines.

    What an earlier run of the same job has finished is not done again. ``progress`` is told the number of
    shards that are done, first before any is translated.
    """
    ray = _ray()
    directory = resolve_model_directory(job.model)
    model = {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}
    shards = Shards(job.source, job.output, job.lines_per_shard)
    about = {"model": model[MANIFEST].decode(), "options": dict(job.options)}
    done = shards.begin(about)
    started = not ray.is_initialized()
    if started:
        _connect(ray, address, job)
    try:
        progress(done)
        missing = shards.missing()
        while window := list(islice(missing, _AT_ONCE)):
            for number, lines in _translated(ray, window, model, job):
                shards.keep(number, lines)
                done += 1
                progress(done)
        return shards.finish()
    finally:
        if started:
            ray.shutdown()


def _translated(
    ray: Any, window: list[tuple[int, list[str]]], model: Mapping[str, bytes], job: Job
) -> Iterator[tuple[int, list[str]]]:
    """The shards of a window as they come back; a shard whose worker died is given to another."""
    items = [{"number": number, "lines": lines} for number, lines in window]
    shards = ray.data.from_items(items, override_num_blocks=len(items))
    results = shards.map_batches(
        ShardTranslator,
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=min(job.workers, len(items))),
        num_cpus=job.threads,
        fn_constructor_args=(ray.put(dict(model)), dict(job.options)),
        max_restarts=-1,
        max_task_retries=-1,
    )
    for row in results.iter_rows():
        yield int(row["number"]), [str(line) for line in row["lines"]]


class ShardTranslator:
    """A worker: the model arrives as the bytes of its files, so that no disk need be shared."""

    def __init__(self, model: Any, options: Mapping[str, Any]) -> None:
        import ray

        from glassformer.decoding import Translator

        files = ray.get(model) if isinstance(model, ray.ObjectRef) else model
        self._folder = tempfile.TemporaryDirectory(prefix="glassformer-")
        for name, data in files.items():
            (Path(self._folder.name) / name).write_bytes(data)
        self._translator = Translator.from_pretrained(self._folder.name)
        self._options = dict(options)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The shards of a batch, translated."""
        found = [
            [each.text for each in self._translator.translate([str(line) for line in lines], **self._options)]
            for lines in batch["lines"]
        ]
        return {"number": batch["number"], "lines": found}


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigError("bulk translation needs Ray", "pip install 'glassformer[ray]'") from None
    return ray


def _connect(ray: Any, address: str, job: Job) -> None:
    """Start a cluster here, or join one."""
    quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    ray.data.DataContext.get_current().enable_progress_bars = False
    if address == LOCAL:
        ray.init(address=LOCAL, num_cpus=job.workers * job.threads + 1, **quiet)
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise ConfigError(f"--ray {address}: no cluster answers there ({error})") from None

"""What a server takes: throughput and latency by number of clients, beside one-at-a-time and offline batches.

    python -m benchmarks.serve_load [MODEL] [--source FILE] [--sentences N] [--clients 1 8 64 64x16]
                                    [--rounds 3]

Starts ``glassformer serve`` on a free port of this machine and asks it for translations of the sentences of
a file, each client one at a time (64x16: sixteen at a time), over connections that stay open. The clients are
one process beside the server, on the same cores, and as cheap as a program on bare sockets can be; what they
still take, the server does not have. Offline is one call with all sentences, by one thread and by as many as
there are cores. Everyone has a turn in each round; figures are medians of rounds. The processor time of the
server does not depend on what else the machine does.

Writes ``results.json`` and ``table.md``, the table of docs/serving.md. Without MODEL the shipped model.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median_low
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

import torch

from benchmarks.measure import environment, write_results

if TYPE_CHECKING:
    from glassformer.decoding import Translator

TURN_SECONDS = 10.0
"""No number of clients begins new requests after so long: the whole is done in minutes on any machine."""

_LONGER = 8
"""Sentences are asked for so many times over where a request has several: each client has some requests."""

DEFAULT_FOLDER = Path(__file__).parent / "results" / "serve_load"


class Crowd(NamedTuple):
    """Who asks at the same time."""

    clients: int
    texts: int = 1
    """Sentences of one request."""

    def __str__(self) -> str:
        return f"{self.clients}" if self.texts == 1 else f"{self.clients}, {self.texts} sentences a request"


def crowd(text: str) -> Crowd:
    """``64``, or ``64x16``."""
    clients, _, texts = text.partition("x")
    return Crowd(int(clients), int(texts or 1))


@dataclass(frozen=True)
class Load:
    """What a number of clients saw."""

    clients: int
    texts: int
    sentences_per_second: float
    p50_ms: float
    p95_ms: float
    failed: int
    cpu_ms: float
    """Processor time of the server for a sentence."""
    memory_mib: int


@dataclass(frozen=True)
class Offline:
    """What one call with all sentences took."""

    threads: int
    sentences_per_second: float
    cpu_ms: float


@dataclass(frozen=True)
class Measured:
    """Medians of all rounds."""

    loads: tuple[Load, ...]
    offline: tuple[Offline, ...]
    """By one thread, and by one for each core."""


@contextmanager
def serving(model: str | None) -> Iterator[tuple[str, int]]:
    """Address and process id of a server, which is told to stop in the end."""
    command = [sys.executable, "-m", "glassformer", "serve", *([model] if model else []), "--port", "0"]
    with tempfile.TemporaryFile() as told, subprocess.Popen(command, stderr=told) as process:
        try:
            yield _address(told, process), process.pid
            process.terminate()
            process.wait(60)
        finally:
            process.kill()


def _address(told: IO[bytes], process: subprocess.Popen[bytes]) -> str:
    """Where a server listens, once it is ready."""
    while process.poll() is None:
        found = re.search(rb"serving on (http://\S+)", os.pread(told.fileno(), 1 << 16, 0))
        if found and _ready(found[1].decode()):
            return found[1].decode()
        time.sleep(0.1)
    raise RuntimeError(os.pread(told.fileno(), 1 << 16, 0).decode())


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=60) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


async def load(url: str, sentences: Sequence[str], who: Crowd, beam: int) -> tuple[float, list[float], int]:
    """Seconds for all sentences, seconds of each request, and how many failed."""
    host, port = url.removeprefix("http://").rsplit(":", 1)
    waiting, failed = iter(range(0, len(sentences) - who.texts + 1, who.texts)), 0
    took: list[float] = []

    async def client() -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(host, int(port))
        for first in waiting:
            start = time.perf_counter()
            if start > end:
                break
            texts = list(sentences[first : first + who.texts])
            text = texts[0] if who.texts == 1 else texts
            status = await ask(reader, writer, f"{host}:{port}", {"text": text, "beam": beam})
            took.append(time.perf_counter() - start)
            failed += status != 200
        writer.close()

    start = time.perf_counter()
    end = start + TURN_SECONDS
    await asyncio.gather(*(client() for _ in range(who.clients)))
    return time.perf_counter() - start, took, failed


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, body: dict[str, object]
) -> int:
    """The status of one request on a connection that stays open; a full client library would cost more."""
    data = json.dumps(body).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    await reader.readexactly(int(answer.split("content-length: ")[1].split("\r\n")[0]))
    return int(answer.split()[1])


def offline(translator: "Translator", sentences: Sequence[str], beam: int, threads: int) -> Offline:
    """What sentences take that are all there from the beginning."""
    native = translator.engines.native
    if native is None:
        torch.set_num_threads(threads)
    else:
        native.engine.threads = threads
    cpu, start = time.process_time(), time.perf_counter()
    translator.translate(list(sentences), beam=beam)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    return Offline(threads, len(sentences) / seconds, 1e3 * used / len(sentences))


def resident_mib(pid: int) -> int:
    """Memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def processor_ms(pid: int) -> float:
    """Processor time that the threads of a process have had."""
    places = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(place.read_text(encoding="ascii").split()[0]) for place in places) / 1e6


def turn(url: str, pid: int, sentences: Sequence[str], who: Crowd, beam: int) -> Load:
    """One round of a number of clients; a lone one has time for fewer sentences, large requests for more."""
    part = sentences if who.clients > 1 else sentences[: max(len(sentences) // 8, 1)]
    if who.texts > 1:
        part = [*sentences] * _LONGER
    before = processor_ms(pid)
    seconds, took, failed = asyncio.run(load(url, part, who, beam))
    done = len(took) * who.texts
    used = (processor_ms(pid) - before) / done
    ranked = sorted(took)
    p50, p95 = (1e3 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.95))
    return Load(who.clients, who.texts, done / seconds, p50, p95, failed, used, resident_mib(pid))


def table(measured: Measured) -> str:
    """The measurements as Markdown."""
    first, alone = measured.loads[0].sentences_per_second, measured.offline[0].sentences_per_second
    lines = [
        "| clients | sentences/s | × one client | of offline | p50 | p95 | CPU per sentence | memory |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in measured.loads:
        rate, who = each.sentences_per_second, Crowd(each.clients, each.texts)
        lines.append(
            f"| {who} | {rate:.0f} | {rate / first:.1f} | {rate / alone:.0%} | {each.p50_ms:.0f} ms "
            f"| {each.p95_ms:.0f} ms | {each.cpu_ms:.2f} ms | {each.memory_mib} MiB |"
        )
    for call in measured.offline:
        rate, threads = (
            call.sentences_per_second,
            "1 thread" if call.threads == 1 else f"{call.threads} threads",
        )
        lines.append(
            f"| offline, {threads} | {rate:.0f} | | {rate / alone:.0%} | | | {call.cpu_ms:.2f} ms | |"
        )
    return "\n".join(lines) + "\n"


def measure(
    model: str | None, sentences: Sequence[str], crowds: Sequence[Crowd], beam: int, rounds: int = 3
) -> Measured:
    """Every number of clients and the offline calls, in turn."""
    from glassformer.decoding import Translator

    translator = Translator.from_pretrained(*([model] if model else []))
    cores = len(os.sched_getaffinity(0))
    loads: dict[Crowd, list[Load]] = {who: [] for who in crowds}
    calls: dict[int, list[Offline]] = {n: [] for n in sorted({1, cores})}
    with serving(model) as (url, pid):
        asyncio.run(load(url, sentences[:32], Crowd(8), beam))  # what is slow the first time
        offline(translator, sentences[:32], beam, 1)
        for _ in range(rounds):
            for who, seen in loads.items():
                seen.append(turn(url, pid, sentences, who, beam))
            for threads, done in calls.items():
                done.append(offline(translator, sentences, beam, threads))
    return Measured(
        tuple(_middle(each) for each in loads.values()), tuple(_middle(each) for each in calls.values())
    )


T = TypeVar("T", Load, Offline)


def _middle(rounds: Sequence[T]) -> T:
    """Medians of everything."""
    every = [asdict(each) for each in rounds]
    return type(rounds[0])(**{name: median_low(each[name] for each in every) for name in every[0]})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--clients", type=crowd, nargs="+", default=[*map(crowd, ("1", "8", "64", "64x16"))])
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER)
    given = parser.parse_args(arguments)
    sentences = read_sentences(given.source, given.sentences)
    started = environment()
    measured = measure(given.model, sentences, given.clients, given.beam, given.rounds)
    shown = table(measured)
    print(shown)
    results = {
        "environment": started,
        "model": given.model or "shipped",
        "beam": given.beam,
        "sentences": len(sentences),
        "rounds": given.rounds,
        **asdict(measured),
    }
    write_results(given.out, results)
    (given.out / "table.md").write_text(shown, encoding="utf-8")


def read_sentences(source: Path | None, n: int) -> list[str]:
    """The first field of each line of a file, or sentences of the phrasebook where there is none."""
    if source is not None:
        lines = source.read_text(encoding="utf-8").split("\n")
        return [line.split("\t")[0] for line in lines if line][:n]
    from glassformer.text.phrasebook import generate

    return [phrase.english for phrase in generate(n, seed=5)]


if __name__ == "__main__":
    main()

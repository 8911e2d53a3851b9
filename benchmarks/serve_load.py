"""What a server takes: throughput and latency by number of clients, beside one-at-a-time and offline batches.

    python -m benchmarks.serve_load [MODEL] [--source FILE] [--sentences N] [--clients 1 8 64] [--out FOLDER]

Starts ``glassformer serve`` on a free port of this machine and asks it for translations of the sentences of
a file, each client one at a time. Writes ``results.json`` and ``table.md``; the table of docs/serving.md is
such a one. Without MODEL the shipped model is served.
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
from typing import IO

from benchmarks.measure import environment, write_results

DEFAULT_FOLDER = Path(__file__).parent / "results" / "serve_load"


@dataclass(frozen=True)
class Load:
    """What a number of clients saw."""

    clients: int
    sentences_per_second: float
    p50_ms: float
    p95_ms: float
    failed: int
    memory_mib: int


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


async def load(
    url: str, sentences: Sequence[str], n_clients: int, beam: int
) -> tuple[float, list[float], int]:
    """Seconds for all sentences, seconds of each request, and how many failed."""
    host, port = url.removeprefix("http://").rsplit(":", 1)
    waiting, took, failed = iter(sentences), [], 0

    async def client() -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection(host, int(port))
        for sentence in waiting:
            start = time.perf_counter()
            status = await ask(reader, writer, f"{host}:{port}", {"text": sentence, "beam": beam})
            took.append(time.perf_counter() - start)
            failed += status != 200
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(n_clients)))
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


def offline(model: str | None, sentences: Sequence[str], beam: int) -> float:
    """Sentences per second when all are there from the beginning."""
    from glassformer.decoding import Translator

    translator = Translator.from_pretrained(*([model] if model else []))
    translator.translate(list(sentences[:16]), beam=beam)
    start = time.perf_counter()
    translator.translate(list(sentences), beam=beam)
    return len(sentences) / (time.perf_counter() - start)


def resident_mib(pid: int) -> int:
    """Memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def table(loads: Sequence[Load], batch_rate: float) -> str:
    """The measurements as Markdown."""
    first = loads[0].sentences_per_second
    lines = [
        "| clients | sentences/s | × one client | of the offline rate | p50 | p95 | memory |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in loads:
        rate = each.sentences_per_second
        lines.append(
            f"| {each.clients} | {rate:.0f} | {rate / first:.1f} | {rate / batch_rate:.0%} "
            f"| {each.p50_ms:.0f} ms | {each.p95_ms:.0f} ms | {each.memory_mib} MiB |"
        )
    return "\n".join(lines) + "\n"


def measure(
    model: str | None, sentences: Sequence[str], clients: Sequence[int], beam: int
) -> tuple[list[Load], float]:
    """Every number of clients, then the offline rate of the same sentences."""
    loads = []
    with serving(model) as (url, pid):
        asyncio.run(load(url, sentences[:32], 8, beam))  # what is slow the first time
        for n_clients in clients:
            part = sentences if n_clients > 1 else sentences[: max(len(sentences) // 8, 1)]
            seconds, took, failed = asyncio.run(load(url, part, n_clients, beam))
            ranked = sorted(took)
            p50, p95 = (1e3 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.95))
            loads.append(Load(n_clients, len(part) / seconds, p50, p95, failed, resident_mib(pid)))
    return loads, offline(model, sentences, beam)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER)
    given = parser.parse_args(arguments)
    sentences = read_sentences(given.source, given.sentences)
    loads, batch_rate = measure(given.model, sentences, given.clients, given.beam)
    shown = table(loads, batch_rate)
    print(shown)
    results = {
        "environment": environment(),
        "beam": given.beam,
        "sentences": len(sentences),
        "offline_sentences_per_second": batch_rate,
        "loads": [asdict(each) for each in loads],
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

"""What every benchmark needs: alternating rounds, honest figures, and a record of the machine."""

import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch

import glassformer

FLAGS_OF_INTEREST = ("avx", "fma", "amx", "f16c")
"""Beginnings of the CPU flags that decide how fast matrices are multiplied."""


class Spread(NamedTuple):
    """The median, and the quartiles around it: half of all measurements lie between low and high."""

    median: float
    low: float
    high: float


def environment() -> dict[str, object]:
    """What results depend on, without anything that names the machine or its owner."""
    cpu = _cpu_info()
    flags = [flag for flag in cpu.get("flags", "").split() if flag.startswith(FLAGS_OF_INTEREST)]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu.get("model name", platform.processor()),
        "cpu_flags": sorted(flags),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 2),  # others at work when this was asked
        "memory_gib": round(memory_info()["MemTotal"] / 2**30, 1),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "glassformer": glassformer.__version__,
    }


def memory_info() -> dict[str, int]:
    """The memory of the machine in bytes, as Linux names its parts; ``MemAvailable`` is what can be had."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    parts = (line.partition(":") for line in lines)
    return {name: int(value.split()[0]) * 1024 for name, _, value in parts}


def interleaved(
    rounds: int,
    functions: Mapping[str, Callable[[], object]],
    *,
    warm_up: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of every call, by name. Everyone has one turn in each round: a disturbance meets all alike.

    ``time.process_time`` as the clock leaves out what other programs took; it adds up all threads.
    """
    if warm_up:
        for function in functions.values():
            function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = clock()
            function()
            times[name].append(clock() - start)
    return times


def median_spread(times: list[float]) -> Spread:
    """The median and the quartiles of measurements."""
    if len(times) == 1:
        return Spread(times[0], times[0], times[0])
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return Spread(median, low, high)


def write_results(folder: Path, data: Mapping[str, object]) -> None:
    """Keep raw results as ``results.json`` in a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=2, ensure_ascii=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")


def _cpu_info() -> dict[str, str]:
    """The first processor as Linux describes it."""
    first, *_ = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")
    parts = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in parts}

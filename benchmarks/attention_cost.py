"""What attention costs as sequences grow: time and extra memory, explicit against fused.

Explicit attention is equation 1 as written (``explained_attention``), which holds matrices of n² weights;
fused attention is what models run (``attention``), which does not. Both do n² work. Time is processor time
of one thread: on a shared machine, waiting for others says nothing about attention.

    python -m benchmarks.attention_cost [--quick] [--out FOLDER]

Writes ``results.json`` (every measurement), ``table.md``, ``plot.svg`` and ``plot.png``. Linux only: memory
is read from ``/proc``.
"""

import argparse
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from benchmarks.measure import Spread, environment, interleaved, median_spread, memory_info, write_results
from glassformer.nn import attention, explained_attention

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = [2**i for i in range(7, 15)]  # 128 … 16,384
QUICK_SIZES = [size for size in SIZES if size <= 1024]
N_HEADS, D_HEAD = 8, 64  # as in the paper's base model; one sequence, float32
KINDS = ("explicit", "fused")
PASSES = ("forward", "forward + backward")
MATRICES = 3.1  # n² matrices per head that explicit attention holds at its peak, as measured at n = 4,096
SHARE = 0.6  # of the available memory: what needs more is not run, others use the machine as well
FITTED = 3  # largest sizes of which the growth is told; small ones are ruled by fixed costs
DEFAULT_FOLDER = Path(__file__).parent / "results" / "attention_cost"


class Case(NamedTuple):
    """One thing to measure."""

    kind: str
    step: str
    n: int


@dataclass(frozen=True)
class Result:
    """What was measured of a case, or why it was not."""

    kind: str
    step: str
    n: int
    seconds: list[float]
    peak_bytes: int | None
    skipped: str | None = None

    @property
    def time(self) -> Spread:
        """Median and spread, in seconds."""
        return median_spread(self.seconds)


# --- What is measured


def prepare(case: Case) -> Callable[[], object]:
    """A function that runs the case once; its inputs are there already."""
    backward = case.step == PASSES[1]
    q, k, v = (torch.randn(1, N_HEADS, case.n, D_HEAD, requires_grad=backward) for _ in range(3))
    gradient = torch.randn(1, N_HEADS, case.n, D_HEAD)

    def forward() -> Tensor:
        return attention(q, k, v) if case.kind == "fused" else explained_attention(q, k, v)[0]

    def forward_only() -> Tensor:
        with torch.no_grad():
            return forward()

    def forward_backward() -> tuple[Tensor, ...]:
        return torch.autograd.grad(forward(), (q, k, v), gradient)

    return forward_backward if backward else forward_only


def peak_memory(case: Case) -> int:
    """Bytes that a case takes beyond its inputs, at its peak. Call it in a process of its own."""
    prepare(case._replace(n=SIZES[0]))()  # libraries load and get their own buffers
    run = prepare(case)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak is now what is in use
    before = _memory("VmRSS")
    run()
    return _memory("VmHWM") - before


def peak_memories(cases: Sequence[Case]) -> list[int]:
    """The peaks of all cases, each in a fresh process: no case may use what another has left behind."""
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"  # freed tensors go back to the system at once
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "glassformer.nn"])
    try:
        with ProcessPoolExecutor(1, context, torch.set_num_threads, (1,), max_tasks_per_child=1) as pool:
            return list(pool.map(peak_memory, cases))
    finally:
        del os.environ["MALLOC_MMAP_THRESHOLD_"]


def _memory(name: str) -> int:
    """A line of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def expected_bytes(case: Case) -> float:
    """About what a case will need: weights are n², everything else is a few times the inputs."""
    weights = MATRICES * N_HEADS * case.n**2 if case.kind == "explicit" else 0.0
    return 4 * (weights + 8 * N_HEADS * case.n * D_HEAD)


def reason_to_skip(case: Case, available: int) -> str | None:
    """Why a case cannot be run on this machine, if so."""
    needed = expected_bytes(case)
    if needed <= SHARE * available:
        return None
    return (
        f"would need about {needed / 2**30:.0f} GiB, "
        f"more than {SHARE:.0%} of the {available / 2**30:.0f} GiB available"
    )


def rounds_for(n: int, most: int) -> int:
    """How often each case is timed: five times or more, but three where a call takes many seconds."""
    return min(most, max(5, 20_480 // n)) if n < SIZES[-2] else 3


def measure(sizes: Sequence[int], most_rounds: int) -> list[Result]:
    """Every case: memory first, each in a process of its own, then time, interleaved in this one."""
    available = memory_info()["MemAvailable"]
    cases = [Case(kind, step, n) for n in sizes for step in PASSES for kind in KINDS]
    skipped = {case: reason for case in cases if (reason := reason_to_skip(case, available))}
    possible = [case for case in cases if case not in skipped]
    for case, reason in skipped.items():
        print(f"{case.kind}, {case.step}, n = {case.n:,} is skipped: {reason}")

    print(f"memory of {len(possible)} cases, a process for each", flush=True)
    peaks = dict(zip(possible, peak_memories(possible), strict=True))
    times: dict[Case, list[float]] = {}
    for n in sizes:
        rounds = rounds_for(n, most_rounds)
        print(f"time for n = {n:,}, {rounds} rounds", flush=True)
        times |= measure_time([case for case in possible if case.n == n], rounds)
    return [Result(*case, times.get(case, []), peaks.get(case), skipped.get(case)) for case in cases]


def measure_time(cases: Sequence[Case], rounds: int) -> dict[Case, list[float]]:
    """Seconds of processor time of every call, for cases of one size."""
    warm_up = cases[0].n < SIZES[-3]  # where a call takes seconds, its first moments do not count
    functions = {f"{case.kind}, {case.step}": prepare(case) for case in cases}
    times = interleaved(rounds, functions, warm_up=warm_up, clock=time.process_time)
    return dict(zip(cases, times.values(), strict=True))


# --- What is told


def growth(points: Sequence[tuple[float, float]]) -> float:
    """The exponent p of y ∝ xᵖ: the slope of a straight line through the logarithms, by least squares."""
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - x_mean) ** 2 for x in xs)


def growths(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """How time and memory of each kind and pass grow with n, at its largest sizes."""
    table = {}
    for name, measured in by_curve(results).items():
        largest = measured[-FITTED:]
        table[name] = {
            "from_n": largest[0].n,
            "to_n": largest[-1].n,
            "time": round(growth([(r.n, r.time.median) for r in largest]), 2),
            "memory": round(growth([(r.n, r.peak_bytes or 1) for r in largest]), 2),
        }
    return table


def by_curve(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The measured results of each kind and pass, smallest n first."""
    curves: dict[str, list[Result]] = {}
    for result in results:
        if result.skipped is None:
            curves.setdefault(f"{result.kind}, {result.step}", []).append(result)
    return curves


def markdown(results: Sequence[Result], machine: dict[str, object]) -> str:
    """The table: a row for each n, time with its spread and memory for each kind and pass."""
    names = [f"{kind}, {step}" for step in PASSES for kind in KINDS]
    lines = [
        f"# Attention: one sequence, {N_HEADS} heads of {D_HEAD}, float32",
        "",
        "Median processor time of one thread in ms (quartiles) / extra memory at the peak in MiB.",
        "",
        "| n | rounds | " + " | ".join(names) + " |",
        "|--:|--:|" + "--:|" * len(names),
    ]
    for n in sorted({result.n for result in results}):
        row = {f"{r.kind}, {r.step}": r for r in results if r.n == n}
        rounds = max(len(result.seconds) for result in row.values())
        lines.append(f"| {n:,} | {rounds} | " + " | ".join(cell(row[name]) for name in names) + " |")
    lines += ["", "How both grow at the largest sizes, as the exponent p of nᵖ:", ""]
    lines += ["| | sizes | time | memory |", "|---|---|--:|--:|"]
    for name, p in growths(results).items():
        lines.append(f"| {name} | {p['from_n']:,} to {p['to_n']:,} | {p['time']:.2f} | {p['memory']:.2f} |")
    reasons = [f"{r.kind}, {r.step}, n = {r.n:,}: {r.skipped}." for r in results if r.skipped]
    lines += ["", *(f"- Not run: {reason}" for reason in reasons), ""] if reasons else [""]
    lines += [
        f"{machine['cpu']}, one of {machine['cores']} cores, torch {machine['torch']}, {machine['date']}."
    ]
    return "\n".join(lines) + "\n"


def cell(result: Result) -> str:
    """Time with its spread, and memory."""
    if result.skipped is not None or result.peak_bytes is None:
        return "–"
    median, low, high = (1000 * seconds for seconds in result.time)
    return f"{figure(median)} ({figure(low)}–{figure(high)}) / {figure(result.peak_bytes / 2**20)}"


def figure(value: float) -> str:
    """A number with two digits or more, and no decimals that mean nothing."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}" if value < 1 else f"{value:.1f}"


# --- What is drawn

COLOURS = {"explicit": "#d55e00", "fused": "#0072b2"}  # Okabe and Ito: told apart by every eye
STYLES = {"forward": ("-", "o", -10), "forward + backward": ("--", "s", 3)}  # line, marker, place of label


def plot(results: Sequence[Result], folder: Path) -> None:
    """Time and memory side by side, as SVG and PNG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(
        {
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "glassformer",  # the same results give the same file
        }
    ):
        drawing = Figure(figsize=(11, 4.8), layout="constrained")
        drawing.suptitle(f"Attention over n positions (one sequence, {N_HEADS} heads of {D_HEAD}, float32)")
        left, right = drawing.subplots(1, 2)
        draw_time(left, results)
        draw_memory(right, results)
        handles, labels = left.get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        drawing.savefig(folder / "plot.svg", metadata={"Date": None})
        drawing.savefig(folder / "plot.png", dpi=150)


def draw_time(axes: "Axes", results: Sequence[Result]) -> None:
    """The left panel: medians, with a band from quartile to quartile."""
    for curve in by_curve(results).values():
        bounds = [result.time for result in curve]
        low, high = [bound.low for bound in bounds], [bound.high for bound in bounds]
        axes.fill_between(
            [r.n for r in curve], low, high, color=COLOURS[curve[0].kind], alpha=0.2, linewidth=0
        )
    draw_curves(axes, results, "time", lambda result: result.time.median)
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g} s" if y >= 1 else f"{1000 * y:g} ms")
    axes.set_title("Processor time of one thread: median and quartiles", loc="left", fontsize=10)


def draw_memory(axes: "Axes", results: Sequence[Result]) -> None:
    """The right panel, in which a cross stands for what was not run."""
    draw_curves(axes, results, "memory", lambda result: result.peak_bytes or 0)
    for result in results:
        if result.skipped is not None and result.step == PASSES[0]:
            needed = expected_bytes(Case(result.kind, result.step, result.n))
            colour = COLOURS[result.kind]
            axes.plot(result.n, needed, "x", color=colour, markersize=8)
            label = f"about {needed / 2**30:.0f} GiB: not run"
            axes.annotate(
                label, (result.n, needed), (-9, -3), textcoords="offset points", ha="right", color=colour
            )
    axes.set_yscale("log", base=2)
    low, high = (math.log2(bound) for bound in axes.get_ylim())
    axes.set_yticks([2.0**i for i in range(math.ceil(low), math.floor(high) + 1) if i % 3 == 2])
    axes.yaxis.set_major_formatter(lambda y, _: size_of(y))
    axes.set_title("Extra memory at the peak", loc="left", fontsize=10)


def draw_curves(axes: "Axes", results: Sequence[Result], quantity: str, y: Callable[[Result], float]) -> None:
    """A line for each kind and pass, log-log, with the growth that was found written at its end."""
    exponents = growths(results)
    for name, curve in by_curve(results).items():
        line, marker, below = STYLES[curve[0].step]
        colour = COLOURS[curve[0].kind]
        axes.plot(
            [r.n for r in curve], [y(r) for r in curve], line, marker=marker, ms=5, color=colour, label=name
        )
        label = f"$\\propto n^{{{exponents[name][quantity]:.1f}}}$"
        end = (curve[-1].n, y(curve[-1]))
        axes.annotate(label, end, (7, below), textcoords="offset points", color=colour)
    sizes = sorted({result.n for result in results})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.set_xlim(sizes[0] / 1.2, sizes[-1] * 2)
    axes.set_xlabel("n")
    axes.grid(alpha=0.25)


def size_of(n_bytes: float) -> str:
    """Bytes in the unit that fits."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes / 2**10:.3g} KiB"


def write(results: Sequence[Result], machine: dict[str, object], folder: Path) -> str:
    """Put everything into the folder; gives the table."""
    settings = {
        "sequences": 1,
        "heads": N_HEADS,
        "d_head": D_HEAD,
        "dtype": "float32",
        "causal": False,
        "clock": "processor time",
    }
    data = {
        "environment": machine,
        "settings": settings,
        "growth": growths(results),
        "results": [asdict(result) for result in results],
    }
    write_results(folder, data)
    table = markdown(results, machine)
    (folder / "table.md").write_text(table, encoding="utf-8")
    plot(results, folder)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write, and print the table."""
    parser = argparse.ArgumentParser(description="Time and memory of attention against the length n.")
    parser.add_argument("--quick", action="store_true", help=f"no more than n = {QUICK_SIZES[-1]:,}")
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER, help="folder for the results")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    machine = environment()
    results = measure(QUICK_SIZES, 5) if options.quick else measure(SIZES, 25)
    print("\n" + write(results, machine, options.out))


if __name__ == "__main__":
    main()

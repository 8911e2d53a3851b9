"""Curves of one or more runs, as SVG and PNG files, drawn from metrics.jsonl alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from glassformer.training.events import read_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # told apart by everybody
Line = dict[str, float | str]


class Curve(NamedTuple):
    """One line of a plot: a quantity of a split over steps."""

    key: str
    split: str
    label: str


PLOTS: Mapping[str, tuple[str, tuple[Curve, ...]]] = {
    "loss": (
        "nats per target token",
        (Curve("nll", "train", "training"), Curve("loss", "valid", "validation")),
    ),
    "lr": ("learning rate", (Curve("lr", "train", "learning rate"),)),
    "scores": (
        "score",
        (
            Curve("bleu", "valid", "BLEU"),
            Curve("chrf", "valid", "chrF"),
            Curve("accuracy", "valid", "accuracy"),
        ),
    ),
}


def draw_run(metrics: Path, folder: Path) -> list[Path]:
    """``loss``, ``lr`` and ``scores`` of one run, each as .svg and .png; those that have data."""
    return draw_runs({"": metrics}, folder)


def draw_runs(runs: Mapping[str, Path], folder: Path, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """The curves of several runs over each other, labelled by the runs' names."""
    from matplotlib.figure import Figure  # late: drawing is rare, importing slow

    lines = {name: read_metrics(path) for name, path in runs.items()}
    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for plot, (quantity, curves) in PLOTS.items():
        figure = Figure(figsize=(7, 4))
        figure.subplots_adjust(left=0.12, right=0.97, top=0.96, bottom=0.13)  # a layout engine is slow
        axes = figure.add_subplot()
        drawn = sum(_draw(axes, name, lines[name], curves, i) for i, name in enumerate(runs))
        if not drawn:
            continue
        axes.set_xlabel("update")
        axes.set_ylabel(quantity)
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        for extension in formats:
            path = folder / f"{plot}.{extension}"
            temporary = path.with_name(f".{path.name}")
            figure.savefig(
                temporary, format=extension, dpi=150, metadata={"Date": None} if extension == "svg" else None
            )
            temporary.replace(path)  # a viewer never sees half a picture
            written.append(path)
    return written


def _draw(axes: "Axes", name: str, lines: list[Line], curves: Sequence[Curve], index: int) -> int:
    """Draw the curves that have points; how many."""
    drawn = 0
    for offset, curve in enumerate(curves):
        points = [
            (float(line["step"]), float(line[curve.key]))
            for line in lines
            if line.get("split") == curve.split and curve.key in line
        ]
        if not points:
            continue
        steps, values = zip(*points, strict=True)
        colour = COLOURS[(index * (1 if name else 0) + (0 if name else offset)) % len(COLOURS)]
        label = f"{name} {curve.label}".strip()
        style = "-" if curve.split == "train" else "o-"
        axes.plot(steps, values, style, label=label, color=colour, linewidth=1.3, markersize=3.5)
        drawn += 1
    return drawn

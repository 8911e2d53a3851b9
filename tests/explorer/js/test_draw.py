"""What is drawn against what it is drawn from: pixels, places, links, ticks."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from playwright.sync_api import Page

from tests.explorer.js.conftest import HOST

Call = Callable[..., Any]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_sequential_colours_change_lightness_in_one_direction(call: Call, theme: str) -> None:
    table = call("draw/colour.js", "sequential", theme)
    light = [luminance(word) for word in table]
    rising = theme == "dark"

    assert len(table) == 256
    assert all((after >= before) == rising or after == before for before, after in pairwise(light))
    assert abs(light[0] - light[-1]) > 0.6


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signed_colours_are_neutral_in_the_middle_and_equally_strong_at_the_ends(
    call: Call, theme: str
) -> None:
    table = call("draw/colour.js", "signed", theme)
    saturation = [max(rgb(word)) - min(rgb(word)) for word in table]

    assert min(saturation) == min(saturation[120:136])
    assert saturation[0] > 60 and saturation[-1] > 60
    assert rgb(table[0])[2] > rgb(table[0])[0], "negative is blue"
    assert rgb(table[-1])[0] > rgb(table[-1])[2], "positive is orange"


@pytest.mark.parametrize("code", ["linear", "sqrt", "log"])
def test_a_heat_map_has_the_colour_of_each_weight(modules: Page, code: str) -> None:
    weights = torch.rand(7, 11).double().pow(3)
    pixels, table, size = modules.evaluate(
        """async ([host, data, name]) => {
          const { heatmap } = await import(`${host}/draw/heatmap.js`);
          const { sequential } = await import(`${host}/draw/colour.js`);
          const { code } = await import(`${host}/draw/scale.js`);
          const canvas = document.createElement("canvas");
          const table = sequential("light");
          heatmap(canvas, Float64Array.from(data), 7, 11, { table, code: code(name) });
          const image = canvas.getContext("2d").getImageData(0, 0, 11, 7);
          const words = Array.from(new Uint32Array(image.data.buffer));
          return [words, Array.from(table), [canvas.width, canvas.height]];
        }""",
        [HOST, weights.flatten().tolist(), code],
    )
    coded = {
        "linear": weights,
        "sqrt": weights.sqrt(),
        "log": torch.where(weights <= 1e-4, 0.0, 1 + weights.log10() / 4),
    }[code]
    expected = [table[math.floor(t * 255 + 0.5)] for t in coded.flatten().tolist()]

    assert size == [11, 7]
    assert pixels == expected


def test_a_heat_map_leaves_nan_transparent_and_clips_what_is_outside(modules: Page) -> None:
    pixels, first, last = modules.evaluate(
        """async (host) => {
          const { heatmap } = await import(`${host}/draw/heatmap.js`);
          const { signed } = await import(`${host}/draw/colour.js`);
          const canvas = document.createElement("canvas");
          const table = signed("dark");
          heatmap(canvas, [NaN, -9, 9, -Infinity], 1, 4, { table, low: -1, high: 1 });
          const image = canvas.getContext("2d").getImageData(0, 0, 4, 1);
          return [Array.from(new Uint32Array(image.data.buffer)), table[0], table[255]];
        }""",
        HOST,
    )

    assert pixels == [0, first, last, first]


def test_an_atlas_puts_each_tile_at_its_place(modules: Page) -> None:
    size, red, alpha = modules.evaluate(
        """async (host) => {
          const { atlas } = await import(`${host}/draw/atlas.js`);
          const canvas = document.createElement("canvas");
          const table = Uint32Array.from({ length: 256 }, (_, i) => 0xff000000 | i);
          const tiles = Uint8Array.from({ length: 5 * 4 }, (_, i) => 10 * Math.floor(i / 4) + (i % 4));
          atlas(canvas, tiles, { count: 5, side: 2, columns: 3, gap: 1, table, order: [4, 3, 2, 1, 0] });
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const channel = (at) => Array.from(data).filter((_, i) => i % 4 === at);
          return [[canvas.width, canvas.height], channel(0), channel(3)];
        }""",
        HOST,
    )
    expected = torch.full((5, 8), -1)
    for place in range(5):
        row, column = place // 3 * 3, place % 3 * 3
        expected[row : row + 2, column : column + 2] = 10 * (4 - place) + torch.arange(4).view(2, 2)
    found = torch.where(torch.tensor(alpha) > 0, torch.tensor(red), -1).view(5, 8)

    assert size == [8, 5]
    assert found.equal(expected)


def test_links_are_the_strongest_keys_of_each_query(call: Call) -> None:
    weights = torch.rand(9, 12).double()
    best = call("draw/links.js", "ranked", weights.flatten().tolist(), 9, 12, 8)
    found = call("draw/links.js", "topLinks", best, {"top": 3, "threshold": 0.5})
    expected = {
        (query, int(key))
        for query in range(9)
        for key in weights[query].topk(3).indices
        if weights[query, key] >= 0.5
    }

    assert {(link["from"], link["to"]) for link in found} == expected
    assert [link["weight"] for link in found] == sorted((link["weight"] for link in found), reverse=True)


def test_links_are_capped(call: Call) -> None:
    weights = torch.rand(600 * 4).double()

    found = call(
        "draw/links.js", "topLinks", call("draw/links.js", "ranked", weights.tolist(), 600, 4, 4), {"top": 4}
    )

    assert len(found) == 1024
    assert min(link["weight"] for link in found) >= float(weights.sort(descending=True).values[1024])


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 2600, 4, [0, 500, 1000, 1500, 2000, 2500]),
        (-3, 3, 3, [-2, 0, 2]),
        (5, 5, 3, [5]),
    ],
)
def test_ticks_are_round_numbers(
    call: Call, low: float, high: float, count: int, expected: list[float]
) -> None:
    assert call("draw/scale.js", "ticks", low, high, count) == pytest.approx(expected)


def test_logarithmic_ticks_stay_inside(call: Call) -> None:
    assert call("draw/scale.js", "logTicks", 1, 37000) == [1, 10, 100, 1000, 10000]
    assert call("draw/scale.js", "logTicks", 3, 70) == [5, 10, 20, 50]


def test_a_curve_breaks_where_a_number_is_missing_and_keeps_spikes(modules: Page) -> None:
    path, spike = modules.evaluate(
        """async (host) => {
          const { curvePath } = await import(`${host}/draw/curve.js`);
          const { linear } = await import(`${host}/draw/scale.js`);
          const same = linear([0, 1], [0, 1]);
          const many = Array.from({ length: 5000 }, (_, i) => i / 5000);
          const y = many.map((_, i) => (i === 2345 ? 77 : 1));
          return [curvePath([0, 10, 20, 30], [1, NaN, 3, 4], same, same), curvePath(many, y, same, same)];
        }""",
        HOST,
    )

    assert path == "M0.0 1.0M20.0 3.0L30.0 4.0"
    assert " 77.0" in spike
    assert spike.count("L") < 6


def test_a_tree_stands_by_step_and_no_two_nodes_share_a_place(call: Call) -> None:
    parents = {node: int(torch.randint(node, ())) for node in range(1, 60)}
    depth = {0: 0}
    for node, parent in parents.items():
        depth[node] = depth[parent] + 1
    nodes = [{"id": 0, "parent": None}, *({"id": node, "parent": parent} for node, parent in parents.items())]
    found = call("draw/tree.js", "layoutTree", nodes)
    places = {node: (place["column"], place["row"]) for node, place in found["places"]}

    assert {node: column for node, (column, _) in places.items()} == depth
    assert len(set(places.values())) == len(nodes)
    by_column = sorted((column, row, node) for node, (column, row) in places.items())
    for (column, _, one), (other, _, two) in pairwise(by_column):
        if column == other > 0:
            assert places[parents[one]][1] <= places[parents[two]][1], "edges do not cross"


def test_a_folded_node_stands_for_what_is_under_it(modules: Page) -> None:
    places = modules.evaluate(
        """async (host) => {
          const { layoutTree } = await import(`${host}/draw/tree.js`);
          const nodes = [[0, null], [1, 0], [2, 0], [3, 1], [4, 3]].map(([id, parent]) => ({ id, parent }));
          const { places } = layoutTree(nodes, { folded: new Set([1]), rank: (id) => -id });
          return [...places.values()].sort((a, b) => a.id - b.id);
        }""",
        HOST,
    )

    assert [place["id"] for place in places] == [0, 1, 2]
    assert [place["hidden"] for place in places] == [0, 2, 0]
    assert places[2]["row"] < places[1]["row"], "children stand by rank"


def test_what_led_to_the_best_end_stands_first_and_what_was_dropped_last(modules: Page) -> None:
    rows, beside = modules.evaluate(
        """async (host) => {
          const { beside, layoutTree, orderOf } = await import(`${host}/draw/tree.js`);
          const nodes = [
            { id: 0, parent: null, status: "root", total: 0 },
            { id: 1, parent: 0, status: "pruned", total: -1 },
            { id: 2, parent: 0, status: "kept", total: -2 },
            { id: 3, parent: 0, status: "kept", total: -3 },
            { id: 4, parent: 3, status: "finished", total: -4 },
          ];
          const byId = new Map(nodes.map((node) => [node.id, node]));
          const order = orderOf(nodes, [{ id: 4, score: -0.5 }], byId);
          const { places } = layoutTree(nodes, { rank: (id) => order.get(id) });
          return [[1, 2, 3].map((id) => places.get(id).row), [3, 2, 1].map((id) => beside(places, id, 1))];
        }""",
        HOST,
    )

    assert rows == [2, 1, 0]
    assert beside == [2, 1, None]


def test_a_large_tree_is_folded_where_it_grows_too_large(call: Call) -> None:
    nodes = [{"id": i, "parent": i - 4 if i >= 4 else None, "step": i // 4} for i in range(400)]
    children = {"js": f"new Map(Array.from({{ length: {len(nodes) - 4} }}, (_, i) => [i, [i + 4]]))"}
    folded = call("draw/tree.js", "foldAtFirst", nodes, children, 40)

    assert {nodes[i]["step"] for i in folded} == {9}
    assert len(folded) == 4


def rgb(word: int) -> tuple[int, int, int]:
    """Red, green and blue of a word of image data on a little-endian machine."""
    return word & 255, word >> 8 & 255, word >> 16 & 255


def luminance(word: int) -> float:
    """As WCAG defines it."""
    linear = [x / 255 / 12.92 if x <= 10 else ((x / 255 + 0.055) / 1.055) ** 2.4 for x in rgb(word)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

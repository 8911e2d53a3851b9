"""V13 Time machine, V14 Runs and V15 Weights, on a run that was really trained."""

import json

import pytest
from playwright.sync_api import Browser, Page, expect

from glassformer import load
from glassformer.training import RunDirectory, read_metrics
from tests.explorer.pages import Explorer, Open, ready


def opened(chromium: Browser, url: str, view: str) -> Page:
    page = chromium.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page.goto(f"{url}#view={view}&text=red%20cat")
    ready(page, view)
    return page


def test_curves_are_the_lines_of_the_run(chromium: Browser, run: RunDirectory, run_url: str) -> None:
    page = opened(chromium, run_url, "runs")
    lines = list(read_metrics(run.metrics))
    page.locator("#stage").focus()
    page.keyboard.press("t")
    page.wait_for_selector(".data-table tbody tr[aria-rowindex]")
    shown = page.locator(".data-table tbody tr[aria-rowindex]").evaluate_all(
        "rows => rows.map(({ cells: [, step, split, value] }) =>"
        " [step.textContent, split.textContent, Number(value.querySelector('.num').title)])"
    )

    assert shown == [[str(line["step"]), line["split"], line["loss"]] for line in lines if "loss" in line]
    page.close()


def test_a_run_in_training_sends_its_new_lines(chromium: Browser, run: RunDirectory, run_url: str) -> None:
    info, metrics = run.path / "run.json", run.metrics
    before = info.read_text(encoding="utf-8"), metrics.read_text(encoding="utf-8")
    info.write_text(json.dumps({**json.loads(before[0]), "status": "training"}), encoding="utf-8")
    try:
        page = opened(chromium, run_url, "runs")
        expect(page.locator(".badge.good", has_text="live")).to_be_visible()
        with metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"t": 1.0, "step": 777, "split": "train", "loss": 1.25}) + "\n")
        expect(page.get_by_text("at step 777")).to_be_visible(timeout=20_000)
        page.close()
    finally:
        info.write_text(before[0], encoding="utf-8")
        metrics.write_text(before[1], encoding="utf-8")


def test_the_time_machine_reads_each_checkpoint(chromium: Browser, run_url: str) -> None:
    page = opened(chromium, run_url, "time-machine")
    page.locator(".time-bar input[type=range]").focus()
    page.keyboard.press("Home")
    expect(page.locator(".film [role=listitem]").first).to_have_class("on")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".film [role=listitem]").nth(1)).to_have_class("on")

    count = page.locator(".film-frame").count()
    assert count >= 3
    assert page.locator(".film .unread").count() <= count - 2
    expect(page.locator(".story tbody tr.chosen")).to_have_count(1)
    page.close()


@pytest.mark.parametrize("name", ["translator", "writer", "judge"])
def test_parameters_sum_to_the_whole_and_are_described_truly(
    open_page: Open, explorer: Explorer, name: str
) -> None:
    page = open_page(name, view="weights")
    page.wait_for_selector(".weight-title")
    path = page.locator(".weight-title").inner_text()
    model = load(explorer.folder / name)
    network = model.models[0] if hasattr(model, "models") else model.model
    parameters = {name: parameter.detach() for name, parameter in network.named_parameters()}
    figures = dict(
        zip(
            page.locator(".weights-grid .figures dt").all_inner_texts(),
            page.locator(".weights-grid .figures dd").evaluate_all(
                "l => l.map(e => e.querySelector('.num')?.title ?? e.textContent)"
            ),
            strict=True,
        )
    )
    tops = page.locator('.weight-line[aria-level="2"] .weight-count').all_inner_texts()

    assert sum(int(text.replace(",", "")) for text in tops) == sum(p.numel() for p in parameters.values())
    assert float(figures["mean"]) == pytest.approx(float(parameters[path].mean()), abs=1e-6)
    assert float(figures["deviation"]) == pytest.approx(float(parameters[path].std(correction=0)), rel=1e-2)
    assert float(figures["norm"]) == pytest.approx(float(parameters[path].norm()), rel=1e-4)


def test_the_parameter_tree_is_walked_by_keyboard(open_page: Open) -> None:
    page = open_page(view="weights")
    page.wait_for_selector(".weight-title")
    tree = page.get_by_role("tree")
    tree.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    second = tree.get_attribute("aria-activedescendant")

    assert second != "weight-all"
    expect(page.locator(f"#{second}")).to_have_attribute("aria-level", "2")

"""The page's pure modules in real Chromium: ``call("math/softmax.js", "softmax", [1.0, 2.0])``."""

import mimetypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

import glassformer

PAGE = Path(glassformer.__file__).parent / "explorer" / "page"
HOST = "http://page.test"

Call = Callable[..., Any]

# Lists of numbers arrive as Float64Array, {"f32": …} and {"u8": …} as those, functions by their source.
CALL = """async ([path, name, args]) => {
  const given = (x) => {
    const all = Array.isArray(x) && x.length && x.every((each) => typeof each === "number");
    if (Array.isArray(x)) return all ? Float64Array.from(x) : x.map(given);
    if (x === null || typeof x !== "object") return x;
    if ("f32" in x) return Float32Array.from(x.f32);
    if ("u8" in x) return Uint8Array.from(x.u8);
    if ("list" in x) return x.list;
    if ("js" in x) return eval(x.js);
    return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, given(value)]));
  };
  const told = (x) => {
    if (ArrayBuffer.isView(x)) return Array.from(x);
    if (Array.isArray(x)) return x.map(told);
    if (x instanceof Map) return Array.from(x, ([key, value]) => [key, told(value)]);
    if (x === null || typeof x !== "object") return typeof x === "function" ? null : x;
    return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, told(value)]));
  };
  const module = await import(path);
  return told(module[name](...args.map(given)));
}"""


def _serve(route: Route) -> None:
    path = PAGE / route.request.url.removeprefix(f"{HOST}/")
    if path == PAGE / "empty":
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
    else:
        route.fulfill(body=path.read_bytes(), content_type=mimetypes.guess_type(path.name)[0])


@pytest.fixture(scope="module")
def modules(chromium: Browser) -> Iterator[Page]:
    """An empty page that can import every module, and reach nothing else."""
    page = chromium.new_page()
    page.route("**/*", _serve)
    page.goto(f"{HOST}/empty")
    yield page
    page.close()


@pytest.fixture
def call(modules: Page) -> Call:
    """A function of a module, called in the browser."""

    def run(path: str, name: str, *args: object) -> Any:
        return modules.evaluate(CALL, [f"{HOST}/{path}", name, list(args)])

    return run

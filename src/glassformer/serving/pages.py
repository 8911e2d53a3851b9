"""What the server tells about its own routes: one page, made here, that loads nothing and runs nothing."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from glassformer.serving.problems import KINDS

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { padding: 0.75rem; overflow-x: auto; border: 1px solid; border-radius: 6px; }
h2 { margin-top: 2.5rem; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; }
td { border-top: 1px solid #8884; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{_HASH}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Of the page: its own style and nothing else."""


def documentation(schema: Mapping[str, Any]) -> str:
    """The page for an OpenAPI description."""
    parts = "".join(_routes(schema))
    problems = "".join(
        f"<tr id='{kind}'><td><code>{kind}</code><td>{about.status}<td>{escape(about.title)}."
        for kind, about in KINDS.items()
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Glassformer API</title><style>{_STYLE}</style><body><h1>Glassformer API</h1>"
        "<p>The same as data: <a href='/openapi.json'>openapi.json</a>. Bodies are JSON. Where the server"
        " has a key, send <code>Authorization: Bearer KEY</code>.</p>"
        f"<main>{parts}</main><h2>Problems</h2>"
        "<p>What cannot be answered is told as <code>application/problem+json</code>, by these types.</p>"
        f"<table><tr><th>type<th>status<th>meaning{problems}</table></body></html>"
    )


def _routes(schema: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code> {escape(route.get('summary', ''))}</h2>"
            yield f"<p>{escape(route.get('description', ''))}</p>"
            body = (
                route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            )
            name = body.get("$ref", "").rpartition("/")[2]
            if name:
                yield from _fields(schema["components"]["schemas"], name)


def _fields(schemas: Mapping[str, Any], name: str) -> Iterator[str]:
    required = schemas[name].get("required", [])
    yield "<table><tr><th>field<th>type<th>meaning"
    for field, about in schemas[name].get("properties", {}).items():
        marked = " (required)" if field in required else ""
        meaning = escape(about.get("description", ""))
        yield f"<tr><td><code>{escape(field)}</code>{marked}<td>{escape(_type(about))}<td>{meaning}"
    yield "</table>"


def _type(about: Mapping[str, Any]) -> str:
    if "anyOf" in about:
        return " or ".join(_type(each) for each in about["anyOf"])
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "enum" in about:
        return " | ".join(map(str, about["enum"]))
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    bounds = [f"{sign} {about[key]}" for key, sign in _BOUNDS.items() if key in about]
    return " ".join([str(about.get("type", "any")), *bounds])


_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}

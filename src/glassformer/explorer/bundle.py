"""The page in one piece: modules joined in the order of their imports, allowed by the hash of the whole.

Browsers load no modules from ``file://``, and an exported page must need no other file. Modules follow a few
rules (``page/README.md``) that make joining them safe: each becomes a function that returns its exports.
"""

import base64
import hashlib
import posixpath
import re
from collections.abc import Mapping

from glassformer.errors import GlassformerError

_IMPORT = re.compile(
    r'^import\s*(?:\{(?P<names>[^}]*)\}\s*from\s*)?"(?P<path>\.{1,2}/[^"]+)";?[ \t]*$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+)?(?:function\*?|const|class)\s+(?P<name>[A-Za-z_$][\w$]*))", re.MULTILINE
)
_STYLE = re.compile(r'[ \t]*<link rel="stylesheet" href="(?P<path>[^"]+)"\s*/?>\n?')
_SCRIPT = re.compile(r'[ \t]*<script type="module" src="(?P<path>[^"]+)">\s*</script>\n?')
_LINK = re.compile(r'[ \t]*<link rel="(?:icon|modulepreload)"[^>]*>\n?')
_TITLE = re.compile(r"<title>[^<]*</title>")


class BundleError(GlassformerError):
    """A module that cannot be joined with the others."""


def join_modules(sources: Mapping[str, str], entry: str) -> str:
    """One script that does what the entry module does."""
    order = _order(sources, entry)
    names = {path: f"module_{number}" for number, path in enumerate(order)}
    parts = ['"use strict";', *(_function(path, sources[path], names) for path in order)]
    script = "(() => {\n" + "\n".join(parts) + "\n})();\n"
    if "</script" in script.lower():
        raise BundleError("a module contains the end of a script element; write it in two parts")
    return script


def join_page(files: Mapping[str, str], data: str, title: str) -> str:
    """One HTML text: ``index.html`` with its style, its script and the data inside."""
    page = files["index.html"]
    entry = _SCRIPT.search(page)
    if entry is None:
        raise BundleError("index.html: there is no module script to put inside")
    style = "\n".join(files[found["path"]] for found in _STYLE.finditer(page))
    script = join_modules(files, entry["path"])
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src blob: data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    for pattern in (_STYLE, _SCRIPT, _LINK):
        page = pattern.sub("", page)
    page = _TITLE.sub(lambda _: f"<title>{title}</title>", page)
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n</head>'
    blob = f'<script type="application/octet-stream" id="glassformer-data">{data}</script>'
    page = page.replace("</head>", head, 1)
    before, _, after = page.rpartition("</body>")
    return f"{before}{blob}\n<script>{script}</script>\n</body>{after}"


def _order(sources: Mapping[str, str], entry: str) -> list[str]:
    """Modules such that each stands behind those it imports."""
    done: list[str] = []
    above: list[str] = []

    def visit(path: str) -> None:
        if path in done:
            return
        if path in above:
            raise BundleError(f"{path}: modules import each other in a circle ({' → '.join([*above, path])})")
        if path not in sources:
            raise BundleError(f"{above[-1] if above else entry}: it imports {path}, which does not exist")
        above.append(path)
        for found in _IMPORT.finditer(sources[path]):
            visit(_resolved(path, found["path"]))
        above.pop()
        done.append(path)

    visit(entry)
    return done


def _function(path: str, source: str, names: Mapping[str, str]) -> str:
    exported = [found["name"] for found in _EXPORT.finditer(source)]

    def imported(found: re.Match[str]) -> str:
        wanted = found["names"]
        if wanted is None:
            return ""
        pairs = [part.split() for part in wanted.split(",") if part.strip()]
        inside = ", ".join(pair[0] if len(pair) == 1 else f"{pair[0]}: {pair[2]}" for pair in pairs)
        return f"const {{ {inside} }} = {names[_resolved(path, found['path'])]};"

    body = _EXPORT.sub("", _IMPORT.sub(imported, source))
    left = re.search(r"^(?:import|export)\b.*$", body, re.MULTILINE)
    if left is not None:
        raise BundleError(f"{path}: this cannot be joined: {left[0][:80]}")
    return f"const {names[path]} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _resolved(path: str, wanted: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), wanted))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

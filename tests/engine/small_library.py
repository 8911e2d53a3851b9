"""A library with the engine's interface and nothing behind it, compiled for a test."""

from pathlib import Path

from glassformer.engine import abi
from tests.engine.native import builder

TRIALS = {
    "works": "return 0;",
    "is wrong": "return 6;",
    "dies": "__builtin_trap();",  # SIGILL on x86, as a CPU that lies about AMX does
    "hangs": "for (volatile int i = 0;; ++i) {}",
}


def small_library(
    folder: Path, *, version: int = abi.VERSION, trial: str = "works", missing: str = ""
) -> Path:
    """A library that claims AMX and the portable kernels; its trial of AMX ends as it is told."""
    names = [name for name in (*abi._STATUS, *abi._ANSWER) if name != missing]
    special = {
        "gf_abi_version": f"return {version};",
        "gf_kernels_count": "return 2;",
        "gf_kernels_claimed": "return 1;",
        "gf_kernels_allow": "allowed = 1; return 0;",
    }
    lines = ["static int allowed = 0;"]
    for name in names:
        match name:
            case "gf_kernels_name":
                lines.append(f'extern "C" const char *{name}(int i) {{ return i ? "portable" : "amx"; }}')
            case "gf_kernels_available":
                body = "return name[0] == 'p' || allowed;"
                lines.append(f'extern "C" int {name}(const char *name) {{ {body} }}')
            case "gf_kernels_trial":
                lines.append(
                    f'extern "C" int {name}(const char *, char *, unsigned long) {{ {TRIALS[trial]} }}'
                )
            case _:
                lines.append(f'extern "C" int {name}() {{ {special.get(name, "return 2;")} }}')
    source = folder / "small"
    source.mkdir()
    (source / "all.cpp").write_text(
        "\n".join(lines).replace('extern "C"', 'extern "C" __attribute__((visibility("default")))')
    )
    (source / "sources.txt").write_text("all.cpp  # nothing else\n")
    return Path(builder().build(folder / "libsmall.so", folder=source, objects=folder / "objects"))

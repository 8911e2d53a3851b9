"""Builds the native engine with the package, where there is a compiler; without one, PyTorch serves."""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
PLACE = Path("src", "glassformer", "engine")


class NativeEngine(BuildHookInterface):  # type: ignore[type-arg]  # of any builder
    """Compiles ``native/`` into the package before a wheel, or an editable install, is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Put the library into the wheel, whose name then tells the platform; a failure is only told."""
        if not (HERE / "native" / "build.py").is_file():
            self.app.display_warning("The native engine is not among these files; PyTorch will serve.")
            return
        native = _builder()
        try:
            library = native.build(HERE / PLACE / native.OUTPUT.name)
        except (native.NotBuilt, OSError) as error:
            self.app.display_warning(f"The native engine was not built; PyTorch will serve.\n{error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"
        build_data["artifacts"].append(f"/{(PLACE / library.name).as_posix()}")


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("native_build", HERE / "native" / "build.py")
    if spec is None or spec.loader is None:
        raise ImportError("native/build.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # before it runs: its classes look for their module
    spec.loader.exec_module(module)
    return module


def _platform() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")

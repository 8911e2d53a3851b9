"""Hugging Face directories taken as they are: imported on the way, for as long as the process lasts."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from glassformer.checkpoint import resolve_model_directory


def find_directory(directory: Path | str) -> Path:
    """The model directory that is meant; one of Hugging Face is imported, and the copy is found."""
    given = Path(directory)
    return _imported(given.resolve()) if is_foreign(given) else resolve_model_directory(directory)


def is_foreign(directory: Path) -> bool:
    """Whether a directory has a model that is not in our format: settings and weights without a manifest."""
    if (directory / "manifest.json").exists() or not (directory / "config.json").is_file():
        return False
    return any(directory.glob("*.safetensors"))


@cache
def _imported(directory: Path) -> Path:
    # What imports stands above this part, so it is found through the package when it is asked for.
    import glassformer

    folder = Path(tempfile.mkdtemp(prefix="glassformer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    place = folder / directory.name
    glassformer.import_hugging_face(directory).save(place)
    return place

"""Other programs' models: from Hugging Face directories, to Hugging Face, CTranslate2 and ONNX."""

from glassformer.interop.ctranslate2 import read_ctranslate2
from glassformer.interop.exporting import FORMATS, export_model
from glassformer.interop.hugging_face import ReadModel, read_model
from glassformer.interop.importing import Imported, import_hugging_face
from glassformer.interop.parity import Parity

__all__ = [
    "FORMATS",
    "Imported",
    "Parity",
    "ReadModel",
    "export_model",
    "import_hugging_face",
    "read_ctranslate2",
    "read_model",
]

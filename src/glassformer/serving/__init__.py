"""Models over HTTP: strict requests, one model thread, limits that hold, an end that loses nothing."""

from glassformer.serving.limits import Limits
from glassformer.serving.settings import ServerSettings

__all__ = ["Limits", "ServerSettings"]

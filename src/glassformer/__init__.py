"""The Transformer as finished software: learns from your text, runs fast, lets you see through it.

Importing this does not import torch.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]

"""What is asked of a model, and what it answers, in ids; both engines speak so, see ``engine.hypothesis``."""

from glassformer.engine.hypothesis import Beginning, Hypothesis, Query, Specials

__all__ = ["Beginning", "Hypothesis", "Query", "Specials"]

"""How a trained model is asked."""

from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from glassformer.config.strict import Strict


class DecodeConfig(Strict):
    """How text is searched for (section 6.1 of the paper)."""

    beam: PositiveInt = 4
    """Hypotheses kept; 1 is greedy."""
    alpha: Annotated[float, Field(ge=-2, le=5)] = 0.6
    """Strength of the length penalty."""
    max_extra: NonNegativeInt = 50
    """Output may be this much longer than the input, in tokens."""

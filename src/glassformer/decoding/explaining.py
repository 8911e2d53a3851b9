"""``explain`` on everything that takes text.

What looks inside stands above this part, so it is found through the package when it is asked for.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import glassformer


class Explainable:
    """Something whose inside can be seen."""

    def explain(
        self,
        text: str,
        *,
        target: str | None = None,
        interventions: Sequence[Mapping[str, object]] = (),
        **options: Any,
    ) -> "glassformer.Trace":
        """Everything that a pass over a text and its output computes; shows itself in a notebook.

        ``target`` is an output to look at instead of the model's own; options are those of decoding.
        """
        import glassformer

        return glassformer.explain(self, text, target=target, interventions=interventions, **options)  # type: ignore[arg-type]  # one of the three

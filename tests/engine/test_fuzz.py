"""A few of the random cases; many more run by ``make test-long``, under sanitizers too."""

import pytest

from tests.engine.fuzz import case
from tests.engine.native import needs_library

pytestmark = needs_library


@pytest.mark.parametrize("number", range(25))
def test_a_random_case(number: int) -> None:
    case(seed=1, number=number)

"""docs/settings.md shows the settings there are."""

from tools.settings_page import PAGE, page


def test_the_reference_is_current() -> None:
    """If this fails: ``python -m tools.settings_page``."""
    assert PAGE.read_text(encoding="utf-8") == page()

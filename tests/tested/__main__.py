"""Write the figures that are kept into `tests/README.md`."""

from tests.tested import PAGE, written

PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

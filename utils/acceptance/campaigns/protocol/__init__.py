"""The protocol of an acceptance: as data, as Markdown, and drawn again to verify it."""

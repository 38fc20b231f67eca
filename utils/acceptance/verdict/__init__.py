"""One verdict on a run: complete, passed, no worse than before; as text, JUnit, Prometheus."""

"""NAS Parallel Benchmarks."""

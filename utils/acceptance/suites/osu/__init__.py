"""OSU Micro-Benchmarks."""

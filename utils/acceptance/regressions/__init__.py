"""What became worse: series of samples, findings in them, grouped into incidents."""

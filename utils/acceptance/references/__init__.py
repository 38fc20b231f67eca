"""Published values, baselines, tolerances and claims: read, validated as a whole, looked up."""

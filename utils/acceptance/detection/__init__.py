"""Arrays in, changes of level out: pure numerics, knows no session and no file."""

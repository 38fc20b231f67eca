"""What goes wrong while something runs, as one table: `make faults`.

Each row puts one fault into a command (kill, full disk, read-only folder, two at once, a wrong
clock, a bad program, locks of NFS, a node or a controller away), and answers four questions by
looking at what is there afterwards: was anything lost, is anything falsely green, does the same
command work again, and does one line say what happened?

`rows.py` has the rows, `inject.py` the faults, `place.py` what is looked at.
"""

"""`fatoohi2006`: four machines, two of them with shared memory (Fatoohi et al., 2006).

Made by `../test_beds.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

BEDS = names_in(Path(__file__).resolve().parents[1] / "test_beds.py")["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["fatoohi2006"]

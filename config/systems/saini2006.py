"""`saini2006`: five machines and their networks (Saini et al., 2006).

Made by `../test_beds.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

BEDS = names_in(Path(__file__).resolve().parents[1] / "test_beds.py")["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["saini2006"]

"""`subramoni2009`: three processors, each with InfiniBand DDR or QDR (Subramoni et al., 2009).

Made by `../test_beds.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

BEDS = names_in(Path(__file__).resolve().parents[1] / "test_beds.py")["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["subramoni2009"]

"""`subramoni2009`: three processors, each with InfiniBand DDR or QDR (Subramoni et al., 2009).

Made by `../test_beds.py`.
"""

import runpy
from pathlib import Path

BEDS = runpy.run_path(str(Path(__file__).resolve().parents[1] / "test_beds.py"))["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["subramoni2009"]

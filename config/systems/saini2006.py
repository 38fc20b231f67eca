"""`saini2006`: five machines and their networks (Saini et al., 2006).

Made by `../test_beds.py`.
"""

import runpy
from pathlib import Path

BEDS = runpy.run_path(str(Path(__file__).resolve().parents[1] / "test_beds.py"))["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["saini2006"]

"""`koop2008`: one pair of nodes, four kinds of InfiniBand adapter (Koop et al., 2008).

Made by `../test_beds.py`.
"""

import runpy
from pathlib import Path

BEDS = runpy.run_path(str(Path(__file__).resolve().parents[1] / "test_beds.py"))["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["koop2008"]

"""`koop2008`: one pair of nodes, four kinds of InfiniBand adapter (Koop et al., 2008).

Made by `../test_beds.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

BEDS = names_in(Path(__file__).resolve().parents[1] / "test_beds.py")["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["koop2008"]

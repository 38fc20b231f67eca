"""`kandadai2009`: one cluster with three networks in every node (Kandadai and He, 2009).

Made by `../test_beds.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

BEDS = names_in(Path(__file__).resolve().parents[1] / "test_beds.py")["BEDS"]
SYSTEM, ENVIRONMENTS = BEDS["kandadai2009"]

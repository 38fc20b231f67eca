"""`roce`: a template, a cluster of RoCE with eight adapters a node.

Made by `../templates.py`.
"""

import runpy
from pathlib import Path

TEMPLATES = runpy.run_path(str(Path(__file__).resolve().parents[1] / "templates.py"))["TEMPLATES"]
SYSTEM, ENVIRONMENTS = TEMPLATES["roce"]

"""`slingshot`: a template, a dragonfly of Slingshot 11.

Made by `../templates.py`.
"""

import runpy
from pathlib import Path

TEMPLATES = runpy.run_path(str(Path(__file__).resolve().parents[1] / "templates.py"))["TEMPLATES"]
SYSTEM, ENVIRONMENTS = TEMPLATES["slingshot"]

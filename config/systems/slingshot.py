"""`slingshot`: a template, a dragonfly of Slingshot 11.

Made by `../templates.py`.
"""

from pathlib import Path

from acceptance.core.machine import names_in

TEMPLATES = names_in(Path(__file__).resolve().parents[1] / "templates.py")["TEMPLATES"]
SYSTEM, ENVIRONMENTS = TEMPLATES["slingshot"]

"""What the project depends on: locked with hashes, looked up for advisories, and listed.

`python -m tests.audit` looks up each package of each lock file, with pip-audit, in the advisories
of PyPI and of OSV, whichever answers, and writes the bill of materials of the wheel (CycloneDX),
with cyclonedx-bom. What was not looked up is said, and is not green.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.places import ROOT

#: The bill of materials: who makes a release puts it beside the wheel.
BILL = ROOT / "var/audit/interconnect-acceptance.cdx.json"
#: What has advisories, as pip-audit calls it.
SERVICES = ("pypi", "osv")
#: Seconds that a service has for all packages.
PATIENCE = 900
#: Exit statuses: nothing known; an advisory; not looked up, wholly or in part.
GOOD, BAD, NOT_LOOKED = 0, 1, 2

_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;]+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def plain(name: str) -> str:
    """Return the name of a package as all write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Locked:
    """A package of a lock file; `hashes` counts the files that may be installed."""

    name: str
    version: str
    hashes: int


def read_lock(path: Path) -> list[Locked]:
    """Return the packages of a lock file; raises ValueError for a line that is none of a package.

    Form: what `uv pip compile --generate-hashes` writes, a package with its hashes a line, which
    goes on behind a backslash.
    """
    text = path.read_text(encoding="utf-8")
    left = _PIN.sub("", text).strip()
    if left:
        raise ValueError(f"{path.name}: {left.splitlines()[0]!r} is no package with its version")
    return [
        Locked(plain(name), version, len(_HASH.findall(rest)))
        for name, version, rest in _PIN.findall(text)
    ]


def locks() -> dict[str, list[Locked]]:
    """Return lock file -> its packages."""
    return {path.name: read_lock(path) for path in sorted(ROOT.glob("requirements*.lock"))}


@dataclass
class Found:
    """What a service said: `looked` counts packages, `advisories` are lines.

    `left` are the packages that it did not look up; `why`: it said nothing at all.
    """

    looked: int = 0
    advisories: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    why: str = ""

    @property
    def status(self) -> int:
        """Return the exit status: what is not known is not good."""
        if self.advisories:
            return BAD
        return NOT_LOOKED if self.left or self.why or not self.looked else GOOD


def found_in(text: str, errors: str, asked: Iterable[str]) -> Found:
    """Read what pip-audit prints as JSON: it ends with 0, and green, where it looked up nothing."""
    try:
        answers = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        return Found(left=sorted(asked), why=lines[-1] if lines else "it printed nothing")
    found, known = Found(), set()
    for each in answers:
        if "skip_reason" not in each and "vulns" in each:
            known.add(plain(each["name"]))
            found.advisories += [
                f"{each['name']} {each['version']}: {one['id']}, fixed in "
                f"{', '.join(one.get('fix_versions', ())) or 'no release'}"
                for one in each["vulns"]
            ]
    found.looked, found.left = len(known), sorted({*asked} - known)
    return found


def rounds(packages: Iterable[Locked]) -> list[list[tuple[str, str]]]:
    """Return name and version of all packages, in lists in which no package stands twice.

    Other Pythons have other versions of some; pip-audit takes one a time.
    """
    made: list[list[tuple[str, str]]] = []
    for name, version in sorted({(each.name, each.version) for each in packages}):
        place = next((one for one in made if name not in dict(one)), None)
        if place is None:
            made.append(place := [])
        place.append((name, version))
    return made


def advisories(packages: Iterable[Locked]) -> dict[str, Found]:
    """Ask each service about packages, until one has looked up all of them."""
    asked, answers = rounds(packages), {}
    for service in SERVICES:
        answers[service] = whole = Found()
        for pins in asked:
            found = found_in(*_ask(service, pins), {name for name, _ in pins})
            whole.looked += found.looked
            whole.advisories += found.advisories
            whole.left += found.left
            whole.why = whole.why or found.why
        if whole.status != NOT_LOOKED:
            break
    return answers


def _ask(service: str, pins: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return what pip-audit prints about packages, and its errors."""
    command = ["-m", "pip_audit", "--vulnerability-service", service, "--no-deps", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--requirement"]
    # Without hashes and markers: also what other Pythons get is looked up.
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{name}=={version}\n" for name, version in pins))
        file.flush()
        try:
            done = subprocess.run(
                [sys.executable, *command, file.name],
                capture_output=True, text=True, timeout=PATIENCE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", f"no answer within {PATIENCE} s"
    return done.stdout, done.stderr


def requirements(name: str) -> set[str]:
    """Return what an installed package needs, whatever the Python; empty where it is not here."""
    try:
        stated = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:
        return set()
    needed = (each for each in stated if not re.search(r";.*\bextra\b", each))
    return {plain(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in needed}


def bill(locked: Iterable[Locked]) -> dict[str, Any]:
    """Return the bill of materials of the wheel: all that it may need, as locked, and who needs it.

    What only builds the wheel is no part of it.
    """
    command = ["-m", "cyclonedx_py", "requirements", "requirements.lock"]
    command += [
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "--mc-type",
        "application",
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *command], capture_output=True, text=True, cwd=ROOT,
        check=True,
    )  # fmt: skip
    made: dict[str, Any] = json.loads(done.stdout)
    return of_wheel(made, {each.name for each in locked})


def of_wheel(made: Mapping[str, Any], locked: set[str]) -> dict[str, Any]:
    """Return a bill with its graph, and without what nothing of the wheel needs."""
    root = made["metadata"]["component"]
    needs = {name: requirements(name) & locked for name in locked}
    reached, left = set(), [*(requirements(root["name"]) & locked)]
    first = sorted(left)
    while left:
        if (name := left.pop()) not in reached:
            reached.add(name)
            left += needs[name]
    components = [each for each in made["components"] if plain(each["name"]) in reached]
    for each in components:
        # A line of the lock says nothing more; where it is from is who installs it to say.
        each.pop("description", None)
        each["bom-ref"] = each["purl"]
        each["hashes"] = [
            one for place in each.pop("externalReferences", ()) for one in place.get("hashes", ())
        ]
    refs = {plain(each["name"]): each["bom-ref"] for each in components}
    graph = [{"ref": root["bom-ref"], "dependsOn": [refs[name] for name in first]}]
    graph += [
        {"ref": ref, "dependsOn": sorted(refs[one] for one in needs[name])}
        for name, ref in sorted(refs.items())
    ]
    return {**made, "components": components, "dependencies": graph}


def faults_of(made: Mapping[str, Any]) -> str:
    """Return what the schema of CycloneDX has against a bill; empty: nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(made))
    return str(fault or "")

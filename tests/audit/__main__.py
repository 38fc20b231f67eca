"""Look up all that is locked, write the bill of materials, and keep the figures."""

import json
import sys

from tests.audit import BILL, GOOD, NOT_LOOKED, advisories, bill, faults_of, locks
from tests.hostile import EXITS, TEXTS
from tests.places import ROOT
from tests.tested import record


def main() -> int:
    """Return 0 where nothing is known against any package, 1 where something is, 2: not looked."""
    locked = locks()
    every = [each for packages in locked.values() for each in packages]
    made = bill(locked["requirements.lock"])
    if fault := faults_of(made):
        raise SystemExit(f"the bill of materials is none of CycloneDX: {fault}")
    BILL.parent.mkdir(parents=True, exist_ok=True)
    BILL.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{BILL.relative_to(ROOT)}: {len(made['components'])} components")
    answers = advisories(every)
    for service, found in answers.items():
        print(f"{service}: {found.looked} packages looked up, {len(found.left)} not"
              + (f": {found.why}" if found.why else ""))  # fmt: skip
        for line in found.advisories:
            print(f"  ADVISORY {line}")
    status = min(each.status for each in answers.values())
    if any(each.advisories for each in answers.values()):
        status = 1
    best = max(answers.values(), key=lambda each: each.looked)
    told = (
        f"{len(best.advisories)}" if status != NOT_LOOKED else "not looked up: no service answers"
    )
    pinned = {(each.name, each.version) for each in every}
    record("audit", "make audit", {
        "hostile texts x exits": f"{len(TEXTS)} x {len(EXITS)}",
        "packages with their version, with hashes": f"{len(pinned)}, "
        f"{len(pinned) - len({(p.name, p.version) for p in every if not p.hashes})}",
        "packages looked up for advisories": f"{best.looked} of {len(pinned)}",
        "advisories": told,
        "components of the bill of materials": f"{len(made['components'])}",
    })  # fmt: skip
    if status == NOT_LOOKED:
        left = ", ".join(best.left[:5])
        print(f"NOT LOOKED UP: {len(best.left)} packages ({left}, ...): this is no good answer")
    elif status == GOOD:
        print("no advisory is known")
    return status


if __name__ == "__main__":
    sys.exit(main())

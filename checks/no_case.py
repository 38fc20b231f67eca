"""Says at load which check files give no case where, what is left out, and missing suites.

All of the first in one line, when all files are loaded: verdict and `acceptance doctor` have the
reasons (`acceptance.machine.no_case`). What is promised and not there has a line each. So has what
a check file leaves out: by its mode, for programs that are not installed, or for the memory. The
gate repeats these (`LEFT_OUT`).
"""

import functools
import sys
from contextlib import suppress
from pathlib import Path

from reframe.core.logging import getlogger

from acceptance import machine
from acceptance.core.findings import Finding
from acceptance.fabric import facts_or_none, takes_gpus
from acceptance.rfm.run_log import LEFT_OUT
from acceptance.suites import SUITES, suite_of

from .extras import environment_of, extras_of
from .partitions import mode_of, nodes_of, partitions, size_of

#: Check files without a case, of which nothing is told yet.
_FOUND: list[Finding] = []


def tell(check: str) -> None:
    """Look where a check file (its stem) gives no case; warn of a suite that is not as stated."""
    for part in partitions():
        environments, stated = environments_of(part), extras_of(part)
        found = machine.no_case(
            check, part.fullname, size_of(part), environments, stated.verify_placement,
            stated.simulated is not None,
        )  # fmt: skip
        if told := size_of(part).told:
            _warn(f"{part.fullname}: {told}")
        if found:
            _FOUND.append(found)
        elif suite := suite_of(check):
            having = (each for each in environments if suite.key in each["features"])
            launcher, verified = part.launcher_type.registered_name, stated.verify_placement
            faults = (
                machine.broken_promise(each, suite)
                or machine.launch_fault(each, launcher, verified)
                for each in having
            )
            for fault in filter(None, faults):
                _warn(f"{part.fullname}: {fault}: its cases fail")
            if told := without_gpus(check, part):
                leave_out(told)


def without_gpus(check: str, part) -> str:
    """Say why no case of a check file uses the GPUs that a partition states; empty: some do."""
    facts = facts_or_none(part.extras)
    if check not in ("osu", "imb") or facts is None or not facts.gpus:
        return ""
    having = [each for each in part.environs if check in each.features]
    why = ""
    if all("no-gpu" in each.features for each in having):
        why = f"{', '.join(each.name for each in having)} cannot (no-gpu)"
    elif facts.gpus * nodes_of(part) < 2:
        why = "a message goes between two"
    elif check == "imb" and facts.gpu_kind != "cuda":
        why = "it knows CUDA alone"
    return why and f"{part.fullname}: no case of {check}.py uses its {facts.gpu_text}: {why}"


def tell_all(generate):
    """Say which check files give no case, and what others leave out, before cases are made."""

    def tell_and_generate(checks, **options):
        if _FOUND:
            promised = any(each.fails for each in _FOUND)
            log = getlogger().warning if promised else getlogger().info
            log(machine.no_cases_line(_FOUND))
            _FOUND.clear()
        ours = [check for check in checks if hasattr(check, "benchmark_name")]
        asked = {(type(check), check.mode) for check in ours}
        left = {line for each in asked for line in left_out(*each)}
        for line in sorted(left | {*cuts(ours), *not_installed(ours)}):
            leave_out(line)
        return generate(checks, **options)

    return tell_and_generate


def left_out(check: type, asked: str) -> list[str]:
    """Say how many benchmarks a check takes in the mode `asked`, or in its partitions' own."""
    stem = _stem(check)
    suite = suite_of(stem)
    here = [part for part in partitions() if suite and _has(part, suite.key)]
    lines = (
        suite.taken_in(mode_of(part, asked), stem, gpus=takes_gpus(part.extras)) for part in here
    )
    return [line for line in lines if line]


def cuts(checks):
    """Yield, for each check file and partition, the largest case whose sizes are cut, and why."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for check in checks:
        valid = {*check.valid_systems} if hasattr(check, "cut_on") else ()
        here = [part for part in partitions() if part.fullname in valid]
        for part in here:
            with suppress(ValueError):  # sizes that cannot be: each case says so
                if (cut := check.cut_on(part)) and _has(part, check.suite):
                    key = _stem(type(check)), part.fullname
                    found.setdefault(key, []).append((check.np, cut))
    for (stem, place), each in found.items():
        _, cut = max(each, key=lambda one: one[0])
        more = f"; {len(each) - 1} more, each tells it" if len(each) > 1 else ""
        yield f"{stem}.py on {place}: sizes are cut: {cut}{more}"


def not_installed(checks):
    """Yield, for each check file and environment, the programs that it is without, and why.

    Reasons that differ in the name of the program alone are one.
    """
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for check in checks:
        # What the mode leaves out is told already.
        lacks = check.lacking if check.valid_systems and hasattr(check, "lacking") else {}
        for environment, why in lacks.items():
            key = _stem(type(check)), environment, why.replace(check.executable, "")
            since = f" ({check.row.since})" if check.row.since else ""
            # A program of many benchmarks may be without some.
            is_alone = not since or check.executable.endswith(check.row.name)
            what = check.executable if is_alone else check.row.name
            found.setdefault(key, {}).setdefault(what + since, why)
    for (stem, environment, _), lacks in found.items():
        yield f"{stem}.py with {environment}: no {', '.join(lacks)}: {next(iter(lacks.values()))}"


def _stem(check: type) -> str:
    return Path(sys.modules[check.__module__].__file__).stem


def _has(part, feature: str) -> bool:
    return any(feature in each.features for each in part.environs)


def environments_of(part) -> list[dict]:
    """Return the environments of a partition as the configuration has them."""
    return [environment_of(each, part) for each in part.environs]


@functools.cache
def leave_out(line: str) -> None:
    """Tell once what is left out: ReFrame makes cases of fixtures, too."""
    getlogger().info(f"{LEFT_OUT}{line}")


@functools.cache
def _warn(line: str) -> None:
    """Warn once: several check files take a suite, and have several classes."""
    getlogger().warning(line)


def needs_build(suite: str) -> bool:
    """Tell whether a suite is built on this system, or promised by an environment without it.

    Where it is only promised the build fails, once for all cases.
    """
    return any(
        machine.builds(each)
        or machine.compiles(each, SUITES[suite])
        or machine.source_of(each, suite)
        or (suite in each["features"] and machine.broken_promise(each, SUITES[suite]))
        for part in partitions()
        for each in environments_of(part)
    )


@functools.cache
def lacking(suite: str, program: str, fault_of) -> dict[str, str]:
    """Return environment -> why it is without a program that an installation of a suite may lack.

    `fault_of` says what is wrong with one that is there, of its path and environment.
    """
    lacks, having = {}, set()
    for environment, is_looked_at in _with(suite):
        why = ""
        if is_looked_at:
            try:
                why = fault_of(machine.program_of(environment, suite, program), environment)
            except FileNotFoundError as err:
                why = str(err)
        if why:
            lacks[environment["name"]] = why
        else:
            having.add(environment["name"])
    return {name: why for name, why in lacks.items() if name not in having}


@functools.cache
def _with(suite: str) -> list[tuple[dict, bool]]:
    """Return the environments that have a suite, and whether it is known which programs of it.

    What is built first is known when it is built. Without any the build fails, and all cases.
    """
    everywhere = (each for part in partitions() for each in environments_of(part))
    found = {repr(each): each for each in everywhere if suite in each["features"]}
    return [
        (
            each,
            not machine.builds(each)
            and not machine.source_of(each, suite)
            and not machine.broken_promise(each, SUITES[suite]),
        )
        for each in found.values()
    ]

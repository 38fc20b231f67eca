"""The steps of a campaign: the link check, then the check files, those together that need another.

A step is one `reframe -r`, so that what a kill loses, and what a resumed campaign repeats, is at
most one suite. Files whose checks wait for results of another file belong to one step with it.
"""

import ast
import itertools
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance import ledger
from acceptance.campaigns.state import NOT_PROVIDED, Step
from acceptance.core.errors import Fault
from acceptance.core.extras import MODES
from acceptance.core.paths import ROOT, Workspace
from acceptance.core.text import there_are
from acceptance.ledger import durations
from acceptance.machine import lists_nodes
from acceptance.rfm import SelectedCase, check_files, select
from acceptance.rfm import configuration as site
from acceptance.verdict import LINK_SUITE, why_no_case

#: The name of the first step, and the suite of the check file that it takes the place of.
LINKS = "links"
LINK_CHECK = f"{LINK_SUITE}.py"
#: The step that measures all nodes in pairs and inside, its check file and its test. What is slow
#: it measures once more by itself.
ALL_PAIRS, ALL_PAIRS_CHECK, ALL_PAIRS_TEST = "all_pairs", "all_pairs.py", "AllPairs"
#: The step of the checks that a site has of its own.
OWN = "own"
#: The mode of ReFrame that runs the link check and all pairs only.
MAINTENANCE = "maintenance"


@dataclass(frozen=True)
class Preview:
    """A step: its cases and builds, how long they take (s), and how many of them never ran here.

    Of these `guessed` have a time by formula, `formula` s of `seconds`; of the others nobody knows
    one. A step that nothing provides has no cases.
    """

    step: Step
    cases: int = 0
    builds: int = 0
    seconds: float = 0.0
    formula: float = 0.0
    guessed: int = 0
    unknown: int = 0
    warnings: tuple[str, ...] = ()


def plan(
    mode: str,
    configuration: site.Site,
    *,
    system: str | None = None,
    pinned: str = "",
    limited: str = "",
    excluded: str = "",
    extra: Sequence[str] = (),
    of_pairs: Sequence[str] = (),
    own: Sequence[Path] = (),
    checks: Path = ROOT / "checks",
) -> list[Step]:
    """Return the steps of a campaign in a mode; every check file that defines tests is in one.

    So are the check files of a site, `own` (`own_files`), in the last step. The modes of this
    library say nothing to them, but that in maintenance only those of its tag are run.

    The link check is a case for each node that is up and not `excluded`. `pinned` are the
    nodes that the benchmarks run on, as `launch` writes pins; `limited` those of which all
    pairs are measured, empty for all that are up. `extra` are further arguments of ReFrame;
    links do not get them, and pairs of nodes only what sets their own variables, for most of them
    choose benchmarks; `of_pairs` are those of pairs alone. Raises SiteFault for a system, and a
    mode, that there is none of.
    """
    chosen = configuration.system(system)
    common = [f"--system={system}"] if system else []
    distribute = ["--distribute=up"] if lists_nodes(chosen) else []
    left_out = ["-J", f"exclude={excluded}"] if excluded else []
    words, look = (
        mode_options(each, configuration, chosen, checks) for each in (mode, MAINTENANCE)
    )
    paths = ["-c", str(checks / LINK_CHECK)]
    of_links = (*paths, "-r", *look, *distribute, *left_out, *common)
    planned = [Step(LINKS, (paths[1],), of_links)]
    found = check_files([checks], recursive=False)
    groups = together(path for path in found if path.name != LINK_CHECK)
    if mode == MAINTENANCE:
        groups = [group for group in groups if group[0].name == ALL_PAIRS_CHECK]
    for group in sorted(groups, key=lambda group: group[0].name != ALL_PAIRS_CHECK):
        pairs = group[0].name == ALL_PAIRS_CHECK
        paths = [word for path in group for word in ("-c", str(path))]
        if mode == MAINTENANCE:  # which may name files of a site
            paths += ["-n", f"^{ALL_PAIRS_TEST}"]
        options = [*of_pairs, *settings(extra, ALL_PAIRS_TEST)] if pairs else extra
        of = limited if pairs else pinned
        pins = ["-S", f"pinned={of}"] if of else []
        name, files = "+".join(path.stem for path in group), tuple(map(str, group))
        step = Step(name, files, (*paths, "-r", *words, *common, *pins, *options), pinned=of)
        reasons = [why_no_case(path.stem, configuration, chosen) for path in group]
        if reasons[0] and all(reasons):
            step.state, step.reason = NOT_PROVIDED, reasons[0].text
            step.remedy = reasons[0].remedy
        planned.append(step)
    if own:
        paths = [word for path in own for word in ("-c", str(path))]
        if mode == MAINTENANCE:
            words = ["-t", f"^{MAINTENANCE}$"]
        elif mode in MODES:
            words = []
        arguments = (*paths, "-r", *words, *common, *extra)
        planned.append(Step(OWN, tuple(map(str, own)), arguments))
    return planned


def own_files(paths: Iterable[Path], checks: Path = ROOT / "checks") -> tuple[Path, ...]:
    """Return the check files of files and folders of a site, each once; none is of the library.

    Raises Fault for a path without a test: it would be left out without a word.
    """
    found: dict[Path, None] = {}
    for path in paths:
        files = check_files([path.resolve()], recursive=False)
        if not files:
            raise Fault(f"-c {path}: {'defines no test' if path.exists() else 'is not there'}")
        if of_library := [file for file in files if file.parent == checks.resolve()]:
            raise Fault(f"-c {path}: {of_library[0].name} is run anyway; name a site's own checks")
        found |= dict.fromkeys(files)
    return tuple(found)


def mode_options(
    mode: str, configuration: site.Site, chosen: Mapping[str, Any], checks: Path
) -> list[str]:
    """Return ReFrame's options for a mode of a system, which need not be in its configuration.

    A mode that names the folder `checks` is spelt out without it: a step names the files that it
    runs, and loads no others. Raises SiteFault for a mode that there is none of.
    """
    if (stated := configuration.options_of(mode, chosen)) is not None:
        # ReFrame expands what a mode says, and nothing of a command.
        options = map(os.path.expandvars, stated)
        texts = (option.replace("--checkpath=", "--checkpath ") for option in options)
        words = [word for text in texts for word in shlex.split(text)]
        for at, (word, path) in enumerate(itertools.pairwise(words)):
            if word in ("-c", "--checkpath") and Path(path).resolve() == checks.resolve():
                return [*words[:at], *words[at + 2 :]]
        return [f"--mode={mode}"]
    if mode == MAINTENANCE:
        return ["-t", f"^{MAINTENANCE}$"]
    if mode in MODES:
        return ["-S", f"mode={mode}"]
    known = dict.fromkeys((*(each["name"] for each in configuration.modes), *MODES, MAINTENANCE))
    raise site.SiteFault(f"no mode {mode!r}; {there_are(mode, known)}")


def settings(options: Sequence[str], test: str) -> list[str]:
    """Return those of ReFrame's options that set a variable of a test: `-S TEST.NAME=VALUE`."""
    kept: list[str] = []
    for option, value in itertools.zip_longest(options, options[1:], fillvalue=""):
        if option in ("-S", "--setvar") and value.startswith(f"{test}."):
            kept += [option, value]
        elif option.startswith((f"-S{test}.", f"--setvar={test}.")):
            kept.append(option)
    return kept


def together(files: Iterable[Path]) -> list[tuple[Path, ...]]:
    """Group check files with those of them that they import; what is imported comes first."""
    order = sorted(files)
    by_stem = {path.stem: path for path in order}
    needs = {path: {by_stem[s] for s in _imports(path) if s in by_stem} - {path} for path in order}
    groups: list[set[Path]] = []
    for path in order:
        touched = [known for known in groups if known & {path, *needs[path]}]
        groups = [known for known in groups if known not in touched]
        groups.append({path}.union(needs[path], *touched))
    return [
        tuple(sorted(group, key=lambda path: (_depth(path, needs), path)))
        for group in sorted(groups, key=min)
    ]


def _depth(path: Path, needs: dict[Path, set[Path]], seen: tuple[Path, ...] = ()) -> int:
    """Return how many files in a row must come before one; a circle counts once."""
    deeper = [_depth(need, needs, (*seen, path)) for need in needs[path] if need not in seen]
    return 1 + max(deeper, default=0)


def _imports(path: Path) -> set[str]:
    """Return the stems of the files that a check file imports of its own folder."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if node.level == 1 or module.split(".")[0] == path.parent.name:
            last = module.removeprefix(path.parent.name).strip(".")
            found |= {last} if last else {alias.name for alias in node.names}
    return found


def preview(
    plan: Sequence[Step], mode: str, extra: Sequence[str], workspace: Workspace
) -> list[Preview]:
    """Ask ReFrame for the cases of each step, and the results database for their times.

    Raises Fault where ReFrame refuses a command, and where `extra`, further options for benchmarks,
    selects none of them.
    """
    selected = {step.name: select(step.arguments, workspace) for step in plan if not step.reason}
    chosen = [name for step in plan if (name := step.name) in selected and _takes(step, extra)]
    cases = {name: of_step for name, (of_step, _) in selected.items()}
    if chosen and not any(cases[name] for name in chosen):
        raise Fault(f"{' '.join(extra)} selects no case of {', '.join(chosen)}")
    keys = {step.name: [_key(case, step, mode) for case in cases.get(step.name, ())]
            for step in plan}  # fmt: skip
    known: Mapping[durations.CaseInMode, float] = {}
    if workspace.results.exists():
        wanted = {key for of_step in keys.values() for key in of_step}
        known = durations.durations(ledger.of(workspace), wanted)
    previews = []
    for step in plan:
        of_step, warnings = selected.get(step.name, ([], ()))
        found, builds = keys[step.name], sum(case.fixture for case in of_step)
        pairs = zip(of_step, found, strict=True)
        guesses = [case.seconds for case, key in pairs if key not in known]
        measured, formula = sum(known.get(key, 0.0) for key in found), sum(guesses)
        guessed = sum(seconds > 0 for seconds in guesses)
        previews.append(Preview(
            step, len(found) - builds, builds, measured + formula, formula, guessed,
            len(guesses) - guessed, warnings,
        ))  # fmt: skip
    return previews


def _takes(step: Step, extra: Sequence[str]) -> bool:
    """Tell whether a step is run with further options."""
    return bool(extra) and step.arguments[-len(extra) :] == (*extra,)


def _key(case: SelectedCase, step: Step, mode: str) -> durations.CaseInMode:
    """Return the key of a case; the link check, as a build, is the same in every mode."""
    return case.name, case.where, "" if case.fixture or step.name == LINKS else mode

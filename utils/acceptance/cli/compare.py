"""`acceptance compare`: two sides beside each other, and what is more than their noise."""

import argparse
import textwrap

from acceptance.cli.arguments import Commands, add_command, add_format, positive
from acceptance.cli.compare_text import listing
from acceptance.cli.output import emit
from acceptance.cli.sources import add_sources, read
from acceptance.comparison import (
    CHANCE,
    FORMS,
    NIGHTS,
    Asked,
    Comparison,
    SideFault,
    Word,
    as_data,
    compare,
    sides,
)
from acceptance.core.words import is_simulated
from acceptance.regressions import judge
from acceptance.regressions.history import History, Series
from acceptance.verdict import Status

_EXAMPLES = """
  acceptance compare last-1 last                 # the last two runs
  acceptance compare night-1 night               # the last two nights, whatever runs each had
  acceptance compare old-cluster new-cluster     # two systems, the last 7 nights of each
  acceptance compare +openmpi +mpich             # two MPIs of one machine
  acceptance compare 2026-10-01..2026-10-31 2026-11-01..       # before and after a day
  acceptance compare --software openmpi=5.0.6    # without a version of something, and with it
"""


def add(commands: Commands) -> None:
    """Add the subcommand."""
    width = max(len(form) for form, _ in FORMS)
    forms = "\n".join(f"  {form:{width}}  {meaning}" for form, meaning in FORMS)
    command = add_command(
        commands,
        "compare",
        "two sessions, systems, MPIs or times: what is better, worse, the same",
        "Compare B with A: the ratio of each metric, and whether it is more than noise.\n"
        f"A and B are each of one of these forms.\n\n{forms}\n\nexamples:\n{_EXAMPLES}\n"
        "Noise is learnt from the past of each metric. Of all metrics together, a word `worse`,\n"
        f"`better` or `differs` is wrong with a probability of at most {100 * CHANCE:.0f} %\n"
        "(Holm 1979). Of a side of fewer than 3 runs it may be an outlier, which is said.",
        failed="something is worse in B",
        others="2 also where nothing could be compared, or a case of A failed in B",
    )
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = textwrap.fill(str(command.epilog), 80)
    command.add_argument("side", nargs="*", metavar="SIDE", help="A and B; see above")
    command.add_argument(
        "--software",
        metavar="NAME=VERSION",
        type=_software,
        help="A is what was measured without it (at one SIDE, or everywhere), B with it",
    )
    command.add_argument(
        "--nights",
        type=positive,
        default=NIGHTS,
        help=f"nights of a side that names no time ({NIGHTS})",
    )
    command.add_argument("--all", action="store_true", help="a line for each metric, same or not")
    add_sources(command)
    add_format(command, "table", "json")
    command.set_defaults(run=run)


def _software(text: str) -> sides.Software:
    try:
        return sides.read_software(text)
    except SideFault as err:
        raise argparse.ArgumentTypeError(str(err)) from None


def run(options: argparse.Namespace) -> int:
    """Print the comparison; the status says whether something is worse."""
    a, b = _sides(options)
    history = read(options, whole=True)
    found = compare(
        history,
        a,
        b,
        nights=options.nights,
        system=options.system,
        starts=_Changes(options, history),
    )
    emit(options.format, lambda: as_data(found), lambda: listing(found, options))
    return status_of(found)


def status_of(found: Comparison) -> Status:
    """Return what a script is told: nothing worse, something worse, or not known."""
    if found.counts[Word.WORSE]:
        return Status.FAILED
    return Status.CANNOT_JUDGE if not found.judged or found.failed else Status.PASSED


def _sides(options: argparse.Namespace) -> tuple[Asked, Asked]:
    """Return the two sides; raises SideFault where these are not two."""
    words, software = options.side, options.software
    if software is None:
        if len(words) != 2:
            raise SideFault(
                f"{len(words)} sides are given, and 2 are compared: acceptance compare last-1 last"
            )
        return sides.read(words[0]), sides.read(words[1])
    if len(words) > 1:
        raise SideFault("with --software one SIDE at most says where, `SYSTEM:PARTITION` say")
    where = words[0] if words else ""
    sign = "!=" if not software.without else "="
    return (
        sides.read(f"{where},{software.name}{sign}{software.version}"),
        sides.read(f"{where},{software.name}{'=' if sign == '!=' else '!='}{software.version}"),
    )


class _Changes:
    """The samples after which the level of a series changed, as `history` shows them."""

    def __init__(self, options: argparse.Namespace, history: History) -> None:
        self.options, self.history = options, history
        self.known: dict[bool, judge.Judgement] = {}

    def __call__(self, series: Series) -> list[int]:
        simulated = is_simulated(series.case.key.system)
        if simulated not in self.known:
            workspace = self.options.workspace
            self.known[simulated] = judge.part_with_references(
                self.history,
                workspace.reference,
                workspace.detection_of(self.options.db or workspace.results),
                simulated=simulated,
            )
        progress = self.known[simulated].progress
        return [] if progress is None else [one.start for one in progress.scan(series).changes]

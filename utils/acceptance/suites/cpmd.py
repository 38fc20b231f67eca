"""CPMD on c120 and si512, as in kandadai2009: a wavefunction, then molecular dynamics from it.

The installation is the site's: a folder with `cpmd.x`, and for each input a folder with `step1.inp`
(OPTIMIZE WAVEFUNCTION), `step2.inp` (MOLECULAR DYNAMICS, RESTART WAVEFUNCTION ... LATEST) and the
pseudopotentials. Each step prints, with Fortran's blanks::

     PROGRAM CPMD STARTED AT: Sat May 31 19:36:07 2008
                              VERSION 3.13.1
     SINGLE POINT DENSITY OPTIMIZATION                     of the second: CAR-PARRINELLO MOLECULAR
      NCPU     NGW     NHG  PLANES  GXRAYS  HXRAYS ORBITALS Z-PLANES                      DYNAMICS
         0    3877   30927       6     166     654       5       1         and each other process
     REAL SPACE MESH:                    154           96           96
     WAVEFUNCTION CUTOFF(RYDBERG):                            35.00000
     (K+E1+L+N+X)           TOTAL ENERGY =         -683.01234567 A.U.
       NFI    EKINC   TEMPP           EKS      ECLASSIC          EHAM         DIS    TCPU
           CPU TIME :    0 HOURS  1 MINUTES 38.76 SECONDS
       ELAPSED TIME :    0 HOURS  1 MINUTES 42.15 SECONDS
     PROGRAM CPMD ENDED AT:   Sat May 31 19:37:50 2008

Source: CPMD 4.3 (timer, loadpa_utils, rinit_utils, wrener_utils, control_pri_utils), which prints
as 3.13 does by its manual. Energies are in Hartree.
"""

import re
from dataclasses import dataclass, field

from acceptance.core.words import keyed
from acceptance.suites.output import LineReader
from acceptance.suites.records import TIME, Benchmark, Suite

PROGRAM = "cpmd.x"
#: Input -> cutoff (Ry) and mesh; kandadai2009, Section "CPMD".
INPUTS = {
    "c120": (35.0, (154, 96, 96)),
    "si512": (20.0, (108, 108, 108)),
    "si512-60": (60.0, (180, 180, 180)),
}
#: The key of the steps -> what each one prints of what it does.
STEPS = {1: "SINGLE POINT DENSITY OPTIMIZATION", 2: "CAR-PARRINELLO MOLECULAR DYNAMICS"}
FILES = {step: f"step{step}.inp" for step in STEPS}
BENCHMARKS = {
    f"cpmd.{name}": Benchmark(
        name, (TIME,), sized=False, since_mode="acceptance" if "-" in name else "nightly"
    )
    for name in INPUTS
}
SUITE = Suite("cpmd", "CPMD", (PROGRAM,), "", BENCHMARKS, inputs=(*INPUTS,))
#: By which share the energy of the dynamics may differ from that of the wavefunction, and that
#: which it conserves may drift.
NEAR, DRIFT = 0.01, 0.001

_TIME = re.compile(r"\s*(CPU|ELAPSED) TIME :\s+(\d+) HOURS\s+(\d+) MINUTES\s+(\d+\.\d\d) SECONDS\Z")
_FACTS = {
    "version": re.compile(r"\s+VERSION (\S+)\Z"),
    "mesh": re.compile(r" REAL SPACE MESH:((?:\s+\d+){3})\Z"),
    "cutoff": re.compile(r" WAVEFUNCTION CUTOFF\(RYDBERG\):\s+(\S+)\Z"),
    "steps": re.compile(r" MAXIMUM NUMBER OF STEPS:\s+(\d+) STEPS\Z"),
    "energy": re.compile(r".* TOTAL ENERGY =\s+(\S+) A\.U\.\Z"),
}
_BEGIN, _END = " PROGRAM CPMD STARTED AT:", " PROGRAM CPMD ENDED AT:"
_FAILED = re.compile(r".*(PROGRAM STOPS IN SUBROUTINE|SOFT EXIT|STOPGM)")


def metrics(seconds: tuple[float | None, ...] = (None, None)) -> dict[str, float | None]:
    """Return the metric of each step and its time (s)."""
    return {
        keyed(TIME.stem, {"step": step}): time for step, time in zip(STEPS, seconds, strict=True)
    }


@dataclass
class Step:
    """What one step prints: its facts as they stand there, and its times (s)."""

    task: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    #: The table that is read: its header, and of the dynamics the rows.
    header: list[str] = field(default_factory=list)
    dynamics: list[dict[str, float]] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    ended: bool = False


class Output(LineReader):
    """The outputs of both steps, one after the other."""

    suite = "CPMD"
    decimal = re.compile(r"-?\d*\.\d+(E[+-]\d+)?\Z", re.ASCII)

    def __init__(self, text: str, source: str, benchmark: str) -> None:
        super().__init__(text, source)
        self.benchmark = benchmark
        self.found: list[Step] = []

    def read(self) -> None:
        """Read each line."""
        for line in self.lines():
            if line.startswith(_BEGIN):
                self.found.append(Step())
            elif self.found:
                self._read_line(self.found[-1], line.rstrip())

    def _read_line(self, step: Step, line: str) -> None:
        tokens = line.split()
        if line.strip() in STEPS.values():
            step.task = line.strip()
        elif _FAILED.match(line):
            raise self.error("the program failed")
        elif line.startswith(_END):
            self.require_whole_line()
            step.ended = True
        elif tokens[:1] in (["NCPU"], ["NFI"]):
            step.header = tokens
        elif found := _TIME.match(line):
            hours, minutes, seconds = map(float, found.groups()[1:])
            step.times[found[1]] = 3600 * hours + 60 * minutes + seconds
        elif tokens and len(tokens) == len(step.header) and tokens[0].isdigit():
            self._read_row(step, tokens)
        elif step.header[:1] == ["NCPU"] or "****" in line:
            step.header = []
        for name, form in _FACTS.items():
            if found := form.match(line):
                step.facts[name] = found[1].strip()

    def _read_row(self, step: Step, tokens: list[str]) -> None:
        """Read a process, or a step of the dynamics."""
        number = self.integer(tokens[0])
        if step.header[0] == "NCPU":
            step.ranks.append(number)
        elif {"EKS", "EHAM"} <= {*step.header}:
            values = [self.real(token, negative=True) for token in tokens[1:]]
            row = dict(zip(step.header[1:], values, strict=True))
            step.dynamics.append({"NFI": number, **row})

    def check(self, processes: int) -> None:
        """Raise ParseError unless both steps are those asked for."""
        self.stand()
        if len(self.found) != len(STEPS):
            raise self.error(f"{len(self.found)} steps instead of {len(STEPS)}")
        cutoff, mesh = INPUTS[self.benchmark]
        for number, step in zip(STEPS, self.found, strict=True):
            self._check_step(f"step {number}", step, STEPS[number], processes)
            if (found := self.real(step.facts["cutoff"])) != cutoff:
                raise self.error(f"step {number}: a cutoff of {found:g} Ry instead of {cutoff:g}")
            if (found_mesh := tuple(map(int, step.facts["mesh"].split()))) != mesh:
                raise self.error(f"step {number}: a mesh of {found_mesh} instead of {mesh}")
        self._check_energies(*self.found)

    @property
    def seconds(self) -> tuple[float, ...]:
        """Return the times (s) that passed in the steps."""
        return tuple(step.times["ELAPSED"] for step in self.found)

    def _check_step(self, what: str, step: Step, task: str, processes: int) -> None:
        if step.task != task:
            raise self.error(f"{what} is {step.task or 'nothing known'} instead of {task}")
        if not step.ended or len(step.times) != 2:
            raise self.error(f"{what} did not end")
        if step.ranks != [*range(processes)]:
            raise self.error(f"{what} ran with {len(step.ranks)} processes instead of {processes}")
        if lacking := [name for name in ("cutoff", "mesh", "version") if name not in step.facts]:
            raise self.error(f"{what} tells no {', '.join(lacking)}")
        if not step.times["ELAPSED"]:
            raise self.error(f"{what} took no time")

    def _check_energies(self, wavefunction: Step, dynamics: Step) -> None:
        """Raise ParseError unless the dynamics goes on from the wavefunction, to its end."""
        if not (wavefunction.facts.get("energy") and dynamics.dynamics):
            raise self.error("no energy of the wavefunction, or none of the dynamics")
        ground = self.real(wavefunction.facts["energy"], negative=True)
        first, last = dynamics.dynamics[0], dynamics.dynamics[-1]
        if not ground < 0 or abs(first["EKS"] - ground) > -NEAR * ground:
            raise self.error(f"the dynamics begins at {first['EKS']:g} A.U., the wavefunction "
                             f"ended at {ground:g}: it did not restart from it")  # fmt: skip
        if abs(last["EHAM"] - first["EHAM"]) > DRIFT * abs(first["EHAM"]):
            raise self.error(f"EHAM is not conserved: {first['EHAM']:g} to {last['EHAM']:g} A.U.")
        steps = [int(row["NFI"]) for row in dynamics.dynamics]
        asked = int(dynamics.facts.get("steps", 0))
        if len(steps) != asked or steps != [*range(steps[0], steps[0] + asked)]:
            raise self.error(f"the dynamics has {len(steps)} steps of {asked}")


def parse(text: str, benchmark: str, processes: int, source: str = "stdout") -> Output:
    """Read both steps of an input, asked for with so many processes; raises ParseError."""
    output = Output(text, source, benchmark)
    output.read()
    output.check(processes)
    return output

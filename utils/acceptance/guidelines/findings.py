"""Violated guidelines as data and as text (`acceptance.guidelines.evaluate` finds them)."""

from dataclasses import dataclass, field

from acceptance.core.text import bytes_text


@dataclass(frozen=True)
class Term:
    """A time on one side, which counts `times` times; `message_size` is that of the suite."""

    benchmark: str
    metric: str
    message_size: int
    value: float
    times: int = 1

    def __str__(self) -> str:
        """Return the number, with what it is multiplied by."""
        return f"{self.times} x {self.value:g}" if self.times > 1 else f"{self.value:g}"


@dataclass(frozen=True)
class Violation:
    """A guideline that is violated at a range of adjacent sizes, with the worst one of them.

    `sizes` are bytes: n, or the suite's message size where one benchmark is compared with itself.
    `factor` is left over right, `tolerance` what it had to exceed at the worst size. `id` is the
    same whenever this guideline is violated in this place, at whatever sizes; that of a second
    range of sizes ends in `#2`. `session` is the UUID of the session that the values come from.
    Of `sessions` earlier ones that compared the worst size, `seen` found it violated, too.
    """

    id: str
    guideline: str
    suite: str
    where: str
    np: int
    keys: dict[str, str]
    cases: tuple[str, ...]
    sizes: tuple[int, ...]
    smallest: int
    largest: int
    worst: int
    left: Term
    right: tuple[Term, ...]
    left_value: float
    right_value: float
    unit: str
    factor: float
    tolerance: float
    session: str
    seen: int = 0
    sessions: int = 0

    @property
    def partition(self) -> str:
        """Return `system:partition`."""
        return self.where.partition("+")[0]

    @property
    def right_text(self) -> str:
        """Return the right side as a sum."""
        return " + ".join(map(str, self.right))

    def __str__(self) -> str:
        """Return it as one line."""
        span = bytes_text(self.smallest)
        if self.largest != self.smallest:
            span += f" to {bytes_text(self.largest)}, worst at {bytes_text(self.worst)}"
        right = f"{self.right_text} {self.unit}"
        if self.right[0].benchmark == self.left.benchmark:
            right += f" at {bytes_text(self.right[0].message_size)}"
        before = f", so in {self.seen} of {self.sessions} earlier sessions" if self.sessions else ""
        return (
            f"{self.guideline}: {self.suite}, {self.placed}, {self.where}: {span}: "
            f"{self.left} {self.unit} > {right} "
            f"({self.factor:.2f} x, tolerance {self.tolerance:.2f}){before}"
        )

    @property
    def placed(self) -> str:
        """Return how many ranks there are, and where they stand."""
        words = [f"{self.np} ranks"]
        if self.keys.get("nodes", "1") != "1":
            words[0] += f" on {self.keys['nodes']} nodes"
        words += [self.keys[key] for key in ("placement", "mapping") if key in self.keys]
        words += [f"{key} {self.keys[key]}" for key in ("pairs", "buffers") if key in self.keys]
        if self.keys.get("intranode", "shared") != "shared":
            words.append(self.keys["intranode"])
        return ", ".join(words)


@dataclass(frozen=True)
class Report:
    """What came of the guidelines in one session.

    `compared` counts the comparisons, `single` those among them that exceed the tolerance of a
    range, but not that of a single size. `skipped` has reason -> how many comparisons it prevented,
    one where a whole benchmark is missing.
    """

    findings: tuple[Violation, ...] = ()
    compared: int = 0
    single: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

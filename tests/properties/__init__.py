"""Properties that hold for all values: of readers, lists, grammars, detection and what is kept.

In `make test` each has some examples, the same ones each time. PROPERTIES=N asks for N others:

    PROPERTIES=5000 python -m pytest -n 0 tests/properties
"""

import os

from hypothesis import HealthCheck, configuration, settings

from tests.places import HERE

#: So many examples of each property, chosen anew; 0: those of `make test`.
ASKED = int(os.environ.get("PROPERTIES") or 0)

# What hypothesis keeps beside its examples goes nowhere near the clone's files.
configuration.set_hypothesis_home_dir(HERE.var / "hypothesis")


def examples(count, *, steps=12, share=1.0):
    """Return the settings of a property; `steps` are those of a state machine.

    A slow one takes a `share` of the examples that are asked for.
    """
    return settings(
        max_examples=max(count, round(ASKED * share)) if ASKED else count,
        stateful_step_count=steps,
        derandomize=not ASKED,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )

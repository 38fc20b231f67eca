"""What a site adds to its own ReFrame configuration, as the last file, so that its runs are found.

    reframe -C site.py -C "$(acceptance doctor --where fragment)" ...

Each run leaves its mark, a log and its results in `$ACCEPTANCE_VAR` (`Workspace.of`), where
`acceptance` reads them. Handlers of logs and perflogs that the site has stay as they are.
"""

import functools
import sys

from acceptance.core.paths import Workspace
from acceptance.rfm import recording

WORKSPACE = Workspace.of()
recording.begin(WORKSPACE, sys.argv[1:], functools.partial(print, file=sys.stderr))
recording.add_handler(recording.log(WORKSPACE))

site_configuration = {"storage": [recording.storage(WORKSPACE)]}

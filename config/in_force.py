"""The last of ReFrame's configuration files: adds nothing, and prints what is in force as JSON.

`acceptance.rfm.in_force` starts `reframe ... --show-config=...` with it. ReFrame's own answer has
either no variables (`--show-config=all`) or one option at a time; and ReFrame opens its log before
it answers, so that one that it does not append to would be empty: here it opens none.
"""

import atexit
import json
import logging.handlers
import os

import reframe.core.logging as rfm_logging
import reframe.core.runtime as runtime

#: What the line begins with that has the answer.
MARK = "acceptance: in force: "
STORAGE = ("enable", "backend", "sqlite_db_file")
HANDLER = ("type", "name", "level", "format", "timestamp", "append")

site_configuration = {}

# Those of ReFrame's own configuration, which it has read first.
for path in rfm_logging.log_files():
    os.unlink(path)
for kind in rfm_logging._create_handlers:
    if kind != "stream":
        rfm_logging._create_handlers[kind] = lambda *_: logging.NullHandler()


def handlers(option):
    """Return what the handlers of the log are asked for, defaults included."""
    return [
        {name: option(f"logging/0/handlers/{number}/{name}") for name in HANDLER}
        for number in range(len(option("logging/0/handlers") or ()))
    ]


def answer():
    """Print what is in force; nothing where ReFrame has refused the configuration."""
    try:
        running = runtime.runtime()
    except BaseException:  # it has said why; its own exception is no Exception
        return
    option = running.get_option
    whole = running.site_config._site_config
    found = {
        "files": [name for name in running.site_config.sources if name != "<builtin>"],
        "system": running.system.name,
        "storage": {name: option(f"storage/0/{name}") for name in STORAGE},
        "level": option("logging/0/level"),
        "log": handlers(option),
        "configuration": {
            name: whole.get(name, []) for name in ("systems", "environments", "modes")
        },
    }
    print(f"\n{MARK}{json.dumps(found, default=str)}")


atexit.register(answer)

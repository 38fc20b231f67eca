"""Hand one message to one target through apprise, in a process of its own (see `targets`).

Standard input is JSON with `url`, `subject` and `body`; standard output is JSON with `why`, the
reason of a failure, or null when the message was delivered. The process may be killed when it takes
too long, and whatever apprise, its plugins and their libraries print or log, which may hold a URL
with its password, ends in it. A reason is made of the phrases below and of nothing else.
"""

import json
import logging
import os
import re
import sys
import warnings
from http import HTTPStatus

#: What is looked for in apprise's log, in lower case -> what is said of it.
_PHRASES = {
    "refused": "connection refused",
    "timed out": "timed out",
    "timeout": "timed out",
    "name or service not known": "host name not known",
    "name resolution": "host name not known",
    "nameresolutionerror": "host name not known",
    "no address associated": "host name not known",
    "unreachable": "network unreachable",
    "no route to host": "network unreachable",
    "certificate": "its certificate is not accepted",
    "authentication": "authentication failed",
    "unexpectedly closed": "connection closed",
    "connection aborted": "connection closed",
    "connection reset": "connection closed",
}
_STATUS = re.compile(r"error=([1-5]\d\d)\b")


class _Log(logging.Handler):
    """Keeps what is logged, for `reason`."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def reason(log: str) -> str:
    """Say in phrases of this module why a message was not delivered."""
    if found := _STATUS.search(log):
        code = int(found[1])
        known = code in {status.value for status in HTTPStatus}
        return f"answered {code}" + (f" ({HTTPStatus(code).phrase})" if known else "")
    lower = log.lower()
    for sign, phrase in _PHRASES.items():
        if sign in lower:
            return phrase
    return "not accepted"


def deliver(url: str, subject: str, body: str) -> str | None:
    """Send a message to a URL of apprise; return why it failed, or None."""
    import apprise

    log = _Log()
    logger = logging.getLogger("apprise")
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    target = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if target is None:
        return "apprise does not understand its URL"
    if "overflow=" not in url:  # what a service does not take in one piece goes in several
        target.overflow_mode = apprise.OverflowMode.SPLIT
    sender = apprise.Apprise()
    sender.add(target)
    done = sender.notify(
        title=subject,
        body=body,
        notify_type=apprise.NotifyType.WARNING,
        body_format=apprise.NotifyFormat.TEXT,
    )
    return None if done else reason("\n".join(log.lines))


def main() -> None:
    """Deliver what standard input holds; say on standard output how it went."""
    answer = os.dup(sys.stdout.fileno())
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())
    warnings.simplefilter("ignore")
    message = json.loads(sys.stdin.buffer.read())
    try:
        why = deliver(message["url"], message["subject"], message["body"])
    except ImportError:
        why = "apprise is not installed: make setup"
    except Exception as err:  # a plugin's own; its text may hold the URL
        why = f"apprise failed with {type(err).__name__}"
    os.write(answer, json.dumps({"why": why}).encode())


if __name__ == "__main__":
    main()

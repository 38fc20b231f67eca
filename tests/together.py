"""One run of ReFrame for the replays of many tests: half of a run of one case is its start."""

import json
import re
import runpy
import shutil
import sqlite3
from contextlib import closing

from tests.conftest import Result, Site

#: What the names of environments, and of partitions, end with while they are run with others.
_ENDING = re.compile(r"--\d{3}")
#: Between what ReFrame says of one failure and of the next one.
_RULE = re.compile(r"^-{60,}$", re.MULTILINE)


class Together:
    """Replays, each made in a site of its own, whose cases one ReFrame lists, or runs.

    There each has environments of its own, and a partition of its own unless all have the same one.
    What ReFrame leaves is shared out then: a site has of it what is of its cases, by the names that
    it gave, as if they had been run there. So `Site.gate` judges them alone. `{folder}` in an
    argument is the folder that all sites are in.
    """

    def __init__(self, *arguments):
        self.arguments = arguments
        self._made = {}
        self._parts = None

    def add(self, key, make, *arguments, case="", **named):
        """Have a replay made by `make(site, *arguments)`; of its cases those named `case` count."""
        assert key not in self._made
        self._made[key] = case, lambda site: make(site, *arguments, **named)

    def part(self, key, folder):
        """Return a site and how the run of its cases ended; for the first one all are run.

        `folder()` returns an empty folder for all of it.
        """
        if self._parts is None:
            self._parts = self._run(folder())
        return self._parts[key]

    def _run(self, folder):
        whole = Site(folder / "whole")
        whole.folder.mkdir()
        systems, partitions, environments, sites = [], [], [], {}
        for number, (key, (_, make)) in enumerate(self._made.items()):
            site = sites[key] = Site(folder / f"{number:03}")
            site.folder.mkdir()
            make(site)
            assert site.environment.keys() == {"RFM_CONFIG_FILES"}, "one environment for all"
            configuration = runpy.run_path(str(site.folder / "site.py"))["site_configuration"]
            (system,) = configuration["systems"]
            (partition,) = system.pop("partitions")
            partition["environs"] = [f"{name}--{number:03}" for name in partition["environs"]]
            for environment in configuration["environments"]:
                environment["name"] += f"--{number:03}"
            systems.append({**system, "prefix": str(whole.var)})
            partitions.append(partition)
            environments += configuration["environments"]
        assert all(system == systems[0] for system in systems)
        names = [name for partition in partitions for name in partition["environs"]]
        if all(
            {**each, "environs": names} == {**partitions[0], "environs": names}
            for each in partitions
        ):
            partitions = [{**partitions[0], "environs": names, "max_jobs": 4}]
        else:
            for number, partition in enumerate(partitions):
                partition["name"] += f"--{number:03}"
        both = {"systems": [{**systems[0], "partitions": partitions}], "environments": environments}
        whole.add_system(f"site_configuration = {both!r}\n")
        arguments = [each.replace("{folder}", str(folder)) for each in self.arguments]
        done = whole.reframe(*arguments)
        return {
            key: (site, _share(whole, site, done, self._made[key][0]))
            for key, site in sites.items()
        }


def _share(whole, site, done, name):
    """Give a site what is its own of a run of all; return how that would have ended there."""
    ending = f"--{site.folder.name}"
    old, new = str(whole.folder), str(site.folder)

    def own(text):
        """Leave out lines, and what is told of failures, of other sites."""
        told = [
            part for part in _RULE.split(text)
            if "FAILURE INFO" not in part or f"{ending}\n" in part
        ]  # fmt: skip
        lines = "".join(told).splitlines(keepends=True)
        mine = (line for line in lines if {*_ENDING.findall(line)} <= {ending})
        return "".join(mine).replace(ending, "").replace(old, new)

    for path in whole.var.rglob("*"):
        below = str(path.relative_to(whole.var))
        if path.is_file() and {*_ENDING.findall(below)} <= {ending}:
            copy = site.var / below.replace(ending, "")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    status = done.status
    if site.database.exists():
        every, cases = _leave(site.database, ending, name, (old, new))
        status = int(_failed(cases))
        (path,) = (site.var / "log").iterdir()
        log = path.read_text()
        assert f"Ran {len(every)}/{len(every)} test case" in log, "all were run, and stored"
        assert done.status == _failed(every)
        count = f"Ran {len(cases)}/{len(cases)} test case"
        path.write_text(own(re.sub(r"Ran \d+/\d+ test case", count, log)))
    return Result(status, own(done.output), own(done.errors))


def _failed(cases):
    return any(case["result"] != "pass" for case in cases)


def _leave(database, ending, name, moved):
    """Leave in the one session of a database the cases of a site; return all, and these."""
    with closing(sqlite3.connect(database)) as connection, connection:
        ((blob,),) = connection.execute("SELECT json_blob FROM sessions").fetchall()
        session = json.loads(blob)
        (run,) = session["runs"]
        every = run["testcases"]
        run["testcases"] = cases = [
            case for case in every
            if case["environ"].endswith(ending) and name in case["display_name"]
        ]  # fmt: skip
        blob = json.dumps(session).replace(ending, "").replace(*moved)
        connection.execute("UPDATE sessions SET json_blob = ?", (blob,))
        # Only ReFrame looks for cases there, and nobody asks it.
        connection.execute("DELETE FROM testcases")
    assert cases, f"{ending} had no case"
    return every, cases

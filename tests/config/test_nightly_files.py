"""`config/nightly/`: each file is what its reader takes, and its command runs."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from acceptance.core.paths import ROOT
from tests.conftest import BIN
from tests.needs import requires

FOLDER = ROOT / "config/nightly"
#: Where the files say that the clone is.
CLONE = "/opt/interconnect-acceptance"
#: A time of cron: minute, hour, day of the month, month, day of the week.
TIME = re.compile(r"(?P<when>(?:[\d*/,-]+ ){4}[\d*/,-]+|@reboot) (?P<command>.+)")
COMMAND = f"{CLONE}/.venv/bin/acceptance nightly"


def lines(name):
    return (FOLDER / name).read_text().splitlines()


def unit(name):
    """Return a unit of systemd: section -> [(key, value)]."""
    found, section = {}, None
    for line in lines(name):
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and line[0] not in "#;":
            section.append(tuple(line.split("=", 1)))
    return {title: dict(pairs) for title, pairs in found.items()}


def here(command):
    """Return a command with this clone, that looks at the links only."""
    return command.replace(CLONE, str(ROOT)).replace(
        "acceptance nightly", "acceptance nightly --mode=maintenance --no-alerts"
    )


def ran(site):
    return [path.name for path in (site.var / "campaigns").glob("nightly-*")]


def jobs_of_cron(name):
    """Return (when, command) of each line, and the variables that are set above."""
    found, variables = [], {}
    for line in lines(name):
        if not line or line.startswith("#"):
            continue
        if matched := TIME.fullmatch(line):
            found.append((matched["when"], matched["command"]))
        else:
            name, equals, value = line.partition("=")
            assert equals, line
            assert name.isidentifier(), line
            variables[name] = value
    return found, variables


# Cron


def test_cron_runs_it_every_night_and_goes_on_after_a_restart():
    (night, again), variables = jobs_of_cron("acceptance.cron")
    assert night == ("0 22 * * *", f"{COMMAND} >/dev/null")
    assert again == ("@reboot", f"sleep 120; {COMMAND} --resume >/dev/null")
    # Cron takes a percent sign for the end of the line.
    assert "%" not in night[1] + again[1]
    assert "/usr/bin" in variables["PATH"].split(":")


def test_the_commands_of_cron_run_with_nothing_in_their_environment(site):
    found, variables = jobs_of_cron("acceptance.cron")
    for _, command in found:
        words = [f"{name}={value}" for name, value in variables.items()]
        command = here(command).replace("sleep 120", "true")
        done = site.run(
            "env", "-i", f"ACCEPTANCE_VAR={site.var}", f"HOME={site.folder}", *words,
            "sh", "-c", command,
        )  # fmt: skip
        assert done.status == 0, done.errors
        # Cron would mail it.
        assert done.output + done.errors == ""
    # The one after a restart had nothing to go on with.
    assert len(ran(site)) == 1


@requires("crontab")
def test_crontab_takes_the_file():
    done = subprocess.run(
        ["crontab", "-T", FOLDER / "acceptance.cron"], capture_output=True, text=True
    )
    if "invalid option" in done.stderr:
        pytest.skip("this crontab cannot check a file (-T): cronie and cron 3.0pl1-187 can")
    assert done.returncode == 0, done.stderr


# Slurm


def scron():
    """Return options, time and command of the scrontab."""
    options = [
        word
        for line in lines("acceptance.scrontab")
        if line.startswith("#SCRON ")
        for word in shlex.split(line.removeprefix("#SCRON "))
    ]
    (job,) = (line for line in lines("acceptance.scrontab") if line and line[0] != "#")
    matched = TIME.fullmatch(job)
    return options, matched["when"], matched["command"]


def test_the_options_of_the_scrontab_stand_right_above_its_line():
    options, when, command = scron()
    found = lines("acceptance.scrontab")
    at = [number for number, line in enumerate(found) if line.startswith("#SCRON ")]
    assert at == list(range(len(found) - 1 - len(at), len(found) - 1))
    assert all(option.startswith("--") and "=" in option for option in options)
    assert when == "0 22 * * *"
    assert command.endswith(COMMAND)


def test_the_command_of_the_scrontab_leaves_variables_of_its_job_behind(site):
    _, _, command = scron()
    command = here(command).replace("env -i", f"env -i ACCEPTANCE_VAR={site.var}")
    command = command.replace(f"{ROOT}/.venv/bin/acceptance", "env; exec $0/acceptance", 1)
    head, _, tail = command.partition("env; exec ")
    seen = site.run("sh", "-c", f"{head} env", SLURM_JOB_ID="7", SLURM_NTASKS="1", USER="me")
    names = {line.partition("=")[0] for line in seen.output.splitlines()}
    assert names == {"ACCEPTANCE_VAR", "HOME", "USER", "PATH"}
    done = site.run("sh", "-c", head + tail.replace("$0", str(BIN)), USER="me")
    assert done.status == 0, done.errors
    assert len(ran(site)) == 1


# systemd


@requires("systemd-analyze")
def test_systemd_takes_the_units(tmp_path):
    paths = []
    for path in FOLDER.glob("acceptance-nightly.*"):
        # It requires the user and the command to be there.
        text = path.read_text().replace(CLONE, str(ROOT)).replace("User=acceptance", "User=root")
        paths.append(tmp_path / path.name)
        paths[-1].write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True
    )
    said = [line for line in done.stderr.splitlines() if "acceptance" in line]
    assert (len(paths), said, done.returncode) == (2, [], 0), done.stderr
    when = unit("acceptance-nightly.timer")["Timer"]["OnCalendar"]
    done = subprocess.run(
        [
            "systemd-analyze",
            "calendar",
            "--iterations=2",
            "--base-time=2026-11-21 12:00:00 UTC",
            when,
        ],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "TZ": "UTC"},
    )
    assert re.findall(r"2026-11-\d\d 22:00:00", done.stdout)[:2] == [
        "2026-11-21 22:00:00",
        "2026-11-22 22:00:00",
    ]


def test_the_service_of_systemd_runs(site):
    service = unit("acceptance-nightly.service")["Service"]
    assert service["Type"] == "oneshot"
    # A stop must reach the command alone, and leave it the time to store what was measured.
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 120
    words = shlex.split(here(service["ExecStart"]))
    done = site.run(
        "env", "-i", "-C", service["WorkingDirectory"].replace(CLONE, str(ROOT)),
        f"ACCEPTANCE_VAR={site.var}", "PATH=/usr/local/bin:/usr/bin:/bin", *words,
    )  # fmt: skip
    assert done.status == 0, done.errors
    assert len(ran(site)) == 1


# GitLab and GitHub


@pytest.mark.parametrize(
    ("name", "schema"),
    [("gitlab-ci.yml", "vendor.gitlab-ci"), ("github-actions.yml", "vendor.github-workflows")],
)
def test_the_files_of_ci_are_what_their_schemas_want(name, schema):
    tool = shutil.which("check-jsonschema", path=str(BIN)) or shutil.which("check-jsonschema")
    if not tool:
        pytest.skip("no check-jsonschema: pip install check-jsonschema")
    done = subprocess.run(
        [tool, "--builtin-schema", schema, FOLDER / name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_gitlab_runs_it_on_a_schedule_one_at_a_time():
    found = yaml.safe_load((FOLDER / "gitlab-ci.yml").read_text())
    job = found["nightly"]
    assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "schedule"'}]
    assert job["resource_group"]
    assert job["script"] == ["make setup", ".venv/bin/acceptance nightly"]
    # What survives a checkout is outside of it.
    assert Path(found["variables"]["ACCEPTANCE_VAR"]).is_absolute()


def test_github_runs_it_on_a_schedule_one_at_a_time():
    found = yaml.safe_load((FOLDER / "github-actions.yml").read_text())
    # YAML 1.1 reads the key `on` as true.
    assert re.fullmatch(TIME.pattern, f"{found[True]['schedule'][0]['cron']} x")
    assert found["concurrency"]["cancel-in-progress"] is False
    job = found["jobs"]["nightly"]
    assert [step["run"] for step in job["steps"] if "run" in step][:2] == [
        "make setup",
        ".venv/bin/acceptance nightly",
    ]
    assert Path(job["env"]["ACCEPTANCE_VAR"]).is_absolute()


@pytest.mark.parametrize("name", ["gitlab-ci.yml", "github-actions.yml"])
def test_what_ci_keeps_is_the_log_of_the_last_night(name, tmp_path):
    (command,) = re.findall(r"cp .*", (FOLDER / name).read_text())
    for number, night in enumerate(("nightly-1", "nightly-2")):
        log = tmp_path / "campaigns" / night / "log.txt"
        log.parent.mkdir(parents=True)
        log.write_text(night)
        os.utime(log, (number, number))
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "ACCEPTANCE_VAR": str(tmp_path)},
    )
    assert done.returncode == 0
    assert (tmp_path / "nightly.log").read_text() == "nightly-2"

"""`machine/osnoise.py` and its script, on made folders in the form that Linux documents."""

import subprocess

import pytest

from acceptance.machine import osnoise

#: In the form of Documentation/trace/osnoise-tracer.rst, and hwlat_detector.rst.
EVENTS = """\
# tracer: osnoise
#           TASK-PID      CPU# ||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US
           <...>-859     [000] ....    81.637220: 1000000        190  99.98100       9     18
      make-94722   [000] d..3.  10.500100: thread_noise:     make:94722 start 9.1 duration 200897 ns
 kworker/0:1-31  [000] d..3.  10.600000: thread_noise: kworker/0:1:31 start 9.2 duration 5000000 ns
  <idle>-0       [000] dNh2.  10.700000: irq_noise: local_timer:236 start 9.3 duration 4890 ns
  <idle>-0       [000] dNh2.  10.700000: irq_noise: local_timer:236 start 9.3 duration 4890 ns
  <idle>-0       [000] d..3.  10.800000: thread_noise: swapper/0:0 start 9.4 duration 13191798 ns
  patterns-5       [000] d..3.  10.800000: thread_noise: patterns:5 start 9.4 duration 13191798 ns
     <...>-5       [000] d..3.  10.900000: nmi_noise: start 9.5 duration 300 ns
"""
HWLAT = """\
           <...>-1729  [000] d...   10.5: #1    inner/outer(us):   12/140   ts:1581527483.343962693
"""


@pytest.fixture
def said(tmp_path):
    (tmp_path / "status").write_text("Name:\tsh\nCpus_allowed_list:\t0,2-3\n")

    def said(trace="", **files):
        for cpu in (0, 2, 3):
            (tmp_path / f"per_cpu/cpu{cpu}").mkdir(parents=True, exist_ok=True)
            (tmp_path / f"per_cpu/cpu{cpu}/trace").write_text(trace if cpu == 0 else "# none\n")
        for name, text in files.items():
            (tmp_path / name.replace("__", "/")).write_text(text)
        return run(tmp_path)

    return said


def run(folder):
    done = subprocess.run(
        ["sh", osnoise.SCRIPT, folder],
        env={"PATH": "/usr/bin:/bin", "STATUS": str(folder / "status")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_what_had_the_cpu_is_told_by_name(said, tmp_path):
    (tmp_path / "osnoise").mkdir()
    text = said(
        EVENTS, current_tracer="osnoise\n", trace_clock="local [mono] boot\n",
        osnoise__options="NO_DEFAULTS NO_OSNOISE_WORKLOAD\n",
    )  # fmt: skip
    assert len(text.splitlines()) == 1 + 7
    ((node, what),) = osnoise.seen(text, {}).items()
    assert what == (
        "osnoise: thread kworker/0:1 5000 us in 1 time, thread make 201 us in 1 time, "
        "irq local_timer 9.78 us in 2 times"
    )
    # Before the run and after it others had the CPU.
    (what,) = osnoise.seen(text, {node: (10.55e9, 10.75e9)}).values()
    assert what.endswith("thread kworker/0:1 5000 us in 1 time, irq local_timer 9.78 us in 2 times")


def test_times_of_another_clock_are_not_compared(said):
    text = said(EVENTS, current_tracer="osnoise\n", trace_clock="[local] mono\n")
    node = text.split()[0]
    assert osnoise.seen(text, {node: (0, 1)}) == osnoise.seen(text, {})


@pytest.mark.parametrize("options", ["DEFAULTS OSNOISE_WORKLOAD\n", None])
def test_the_load_of_the_tracer_itself_is_told(said, tmp_path, options):
    # Before Linux 6.2 there are no options, and it has its load.
    (tmp_path / "osnoise").mkdir()
    more = {} if options is None else {"osnoise__options": options}
    text = said(EVENTS, current_tracer="osnoise\n", trace_clock="[mono]\n", **more)
    assert "with its own load, which is noise itself" in str(osnoise.seen(text, {}))


def test_hardware_that_takes_the_cpu_is_told(said):
    text = said(HWLAT, current_tracer="hwlat\n", trace_clock="[mono]\n")
    (what,) = osnoise.seen(text, {}).values()
    assert what == "hwlat: the hardware 140 us in 1 time"


def test_why_nothing_is_known_is_told(said, tmp_path):
    text = said(current_tracer="nop\n", available_tracers="blk function nop\n")
    (what,) = osnoise.seen(text, {}).values()
    assert what.endswith("current_tracer is nop, of blk function nop")
    (tmp_path / "current_tracer").unlink()
    (what,) = osnoise.seen(said(), {}).values()
    assert what.startswith("not read: ")
    assert what.endswith("current_tracer: No such file or directory")


def test_events_that_cannot_be_read_and_nodes_that_say_nothing_are_told(said, tmp_path):
    said(current_tracer="hwlat\n", trace_clock="[mono]\n")
    (tmp_path / "per_cpu/cpu2/trace").rename(tmp_path / "hidden")
    (tmp_path / "status").write_text("Cpus_allowed_list:\t2\n")
    text = run(tmp_path)
    node = text.split()[0]
    told = osnoise.seen(text, {})
    assert told[node] == f"not read: {tmp_path}/per_cpu/cpu2/trace cannot be read"
    assert osnoise.text(told, (node, "x", "y")).endswith("; x, y: nothing said what it saw")
    assert osnoise.text(told, (node,)) == f"{node}: {told[node]}"


def test_what_the_script_does_not_say_is_refused():
    with pytest.raises(ValueError, match="no line of"):
        osnoise.seen("node1 event nothing\n", {})

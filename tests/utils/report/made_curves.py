"""Nights of the test bed of koop2008: curves, balance, NPB and HPCC, as its partitions may give."""

from acceptance.suites import hpcc
from tests.made import Case, Database, noisy

SIZES = (0, *(2**power for power in range(23)))
#: Partition -> latency of the smallest message (us), and peak bandwidth (MB/s).
PARTITIONS = {
    "sdr-pcie1": (1.5, 940.0),
    "ddr-pcie1": (1.4, 1301.0),
    "ddr-pcie2": (1.2, 1940.0),
    "qdr-pcie2": (1.06, 2575.0),
}
#: Placement -> how much sooner a message arrives, and how much more is carried.
PLACEMENTS = {"inter-node": (1.0, 1.0), "intra-socket": (0.3, 2.2)}
PROVENANCE = {"suite": "OSU 7.5", "mpi": "openmpi@4.1.6", "compiler": "gcc@13.2.0"}


def night(number, system="koop2008", partitions=PARTITIONS, **fields):
    """Return the cases of one night; `fields` go to every case."""
    made = []
    for partition, (latency, peak) in partitions.items():
        where = {"system": system, "partition": partition, "environment": "spack-openmpi"}
        for benchmark, sooner, more, keys in _sweeps():
            values = noisy(f"{partition} {benchmark} {keys}", 1.0)
            made.append(
                _case(
                    benchmark,
                    _metrics(benchmark, latency * sooner, peak * more, values(number)),
                    keys,
                    **where,
                    **fields,
                )
            )
        for name, speed in NPB.items():
            keys = {"np": "16", "nodes": "2", "placement": "inter-node", "class": "B",
                    "mapping": "block", "intranode": "shared"}  # fmt: skip
            mops = speed * (1 + peak / 10000)
            metrics = {"mops_total": (mops, "Mop/s"), "time": (1e4 / mops, "s")}
            made.append(_case(f"npb.{name}", metrics, keys, **where, **fields))
        made.append(hpcc_case(peak, **where, **fields))
    return made


NPB = {"is": 900, "ft": 9000, "cg": 4000, "mg": 11000, "bt": 21000, "sp": 9000, "lu": 20000}


def _sweeps():
    for placement, (sooner, more) in PLACEMENTS.items():
        keys = {"np": "2", "nodes": "2" if placement == "inter-node" else "1",
                "placement": placement, "intranode": "shared"}  # fmt: skip
        yield "osu.latency", sooner, more, keys
        yield "osu.bw", sooner, more, {**keys, "buffers": "same"}
        yield "osu.bibw", sooner, more * 1.95, {**keys, "buffers": "same"}
    pairs = {"np": "8", "nodes": "2", "placement": "inter-node", "pairs": "4"}
    yield "osu.multi_lat", 1.1, 1.0, pairs
    yield "osu.mbw_mr", 1.1, 1.0, {**pairs, "buffers": "same"}
    yield "imb.Allreduce", 4.0, 1.0, {"np": "16", "nodes": "2", "placement": "inter-node"}
    yield "cbr.bw", 1.0, 1.0, {"np": "2", "placement": "intra-socket", "buffers": "same"}


def _metrics(benchmark, latency, peak, noise):
    metrics = {}
    for size in SIZES:
        time = (latency + size / peak) * noise
        if benchmark in ("osu.latency", "osu.multi_lat"):
            metrics[f"latency_{size}"] = (time, "us")
        elif benchmark == "imb.Allreduce" and size:
            metrics[f"time_{size}"] = (time, "us")
        elif benchmark == "cbr.bw" and size:
            metrics[f"ratio_{size}"] = (noise * (2.2 if size > 1024 else 1.1), "1")
        elif benchmark.startswith("osu.") and size:
            metrics[f"bandwidth_{size}"] = (peak * size / (size + 8000) * noise, "MB/s")
    if "bandwidth_1" in metrics:
        value, unit = metrics["bandwidth_4194304"]
        metrics["bandwidth_peak"] = (value, unit, 2600.0, -0.35, 0.02)
    return metrics


def hpcc_case(peak=1000.0, order="20000", filled="0.8", **where):
    """Return a case of HPCC with its ratios; `filled` is the share of memory of its matrix."""
    values = {
        "G-HPL": 160.0, "G-PTRANS": peak / 700, "G-RandomAccess": 0.02, "G-FFTE": 4.0,
        "EP-DGEMM": 10.5, "EP-STREAM-Copy": 1.2, "RandomRing-bandwidth": peak / 8000,
        "RandomRing-latency": 3.0,
    }  # fmt: skip
    metrics = {name: (value, hpcc.METRICS[name].unit) for name, value in values.items()}
    metrics |= hpcc.ratios_of(values, 16)
    keys = {"np": "16", "nodes": "2", "placement": "inter-node", "order": order}
    provenance = {**PROVENANCE, "suite": "HPCC 1.5.0", "filled": filled}
    return _case("hpcc", metrics, keys, **{"provenance": provenance, **where})


def _case(benchmark, metrics, keys, **fields):
    name = f"Made {benchmark} " + " ".join(f"%{key}={value}" for key, value in keys.items())
    made = {"provenance": PROVENANCE, **fields}
    return Case(name=name, benchmark=benchmark, suite=benchmark.partition(".")[0],
                metrics=metrics, keys=keys, **made)  # fmt: skip


def nights(path, count=4, **fields):
    """Make a database of some nights."""
    database = Database(path)
    for number in range(count):
        database.add(night(number, **fields))
    return database

"""Outputs of applications in the form that their programs document, made for a number of processes.

What they print besides is left out, but for a line or two of each kind that a reader must pass.
"""

import math

from acceptance.suites import cpmd, himeno, namd, specmpi

#: Of 5,000 steps NAMD prints the energies of each thousandth.
EVERY = 1000


def of_himeno(grid="S", processes=2, loops=60, seconds=3.0, gosa=None, last=1e-4):
    """Return an output of Himeno's benchmark, its rates by its own formula."""
    inner = math.prod(float(n - 3) for n in himeno.GRIDS[grid])
    first = inner / (3 * (himeno.GRIDS[grid][2] - 2) ** 2) ** 2
    cut = himeno.parts(grid, processes)
    own = [n // parts + 2 for n, parts in zip(himeno.GRIDS[grid], cut, strict=True)]
    rate = 34e-6 * inner * loops / seconds
    i, j, k = himeno.GRIDS[grid]
    return f"""\
 For example:
 Grid-size=
  Grid-size =

 Sequential version array size
  mimax=  {i}  mjmax=  {j}  mkmax=  {k}
 Parallel version  array size
  mimax=  {own[0]}  mjmax=  {own[1]}  mkmax=  {own[2]}
  imax=  {own[0] - 1}  jmax=  {own[1] - 1}  kmax=  {own[2] - 1}
  I-decomp=  {cut[0]}  J-decomp=  {cut[1]}  K-decomp=  {cut[2]}

  Start rehearsal measurement process.
  Measure the performance in 3 times.
   MFLOPS:   {34e-6 * inner * 3 / 0.125!r}   time(s):  0.125  {gosa or 0.96 * first:.8E}
 Now, start the actual measurement process.
 The loop will be excuted in  {loops}  times.
 This will take about one minute.
 Wait for a while.
  Loop executed for  {loops}  times
  Gosa :   {last:.8E}
  MFLOPS:   {rate!r}   time(s):   {seconds!r}
  Score based on Pentium III 600MHz :   {rate / 82.84:.8g}
"""


def of_namd(processes=4, seconds=137.253464, total=-222_495.4, steps=namd.STEPS):
    """Return an output of NAMD on apoa1."""
    title = "ETITLE:      TS           BOND        KINETIC          TOTAL           TEMP"
    rows = []
    for step in range(0, steps + 1, EVERY):
        if step:
            wall = (seconds - 5) * step / steps
            rows.append(f"TIMING: {step}  CPU: {wall:g}, 0.02/step  Wall: {wall:g}, 0.02/step, 0 h")
        rows.append(
            f"ENERGY: {step:7}     20974.8940     45359.0789 {total + step / 100:.4f} 165.0"
        )
    body = "\n".join(rows)
    return f"""\
Charm++> Running on MPI version: 3.1
Info: NAMD 2.14 for Linux-x86_64-MPI
Info: Running on {processes} processors, {processes} nodes, 2 physical nodes.
Info: STRUCTURE SUMMARY:
Info: {namd.ATOMS} ATOMS
{title}
{body}

WRITING VELOCITIES TO OUTPUT FILE AT STEP {steps}
WallClock: {seconds:.6f}  CPUTime: {seconds - 1:.6f}  Memory: 412.601562 MB
"""


def of_cpmd(benchmark="c120", step=1, processes=4, seconds=102.15, energy=-683.0, rows=5):
    """Return an output of a step of CPMD."""
    cutoff, mesh = cpmd.INPUTS[benchmark]
    ranks = "\n".join(f"{n:6}    3877   30927       6     166     654       5       1"
                      for n in range(processes))  # fmt: skip
    body = (
        f" (K+E1+L+N+X)           TOTAL ENERGY =  {energy:18.8f} A.U."
        if step == 1
        else "       NFI    EKINC   TEMPP           EKS      ECLASSIC          EHAM  DIS    TCPU\n"
        + "\n".join(
            f"{n:10}  0.00012   300.1 {energy:.5f} {energy:.5f} {energy + 1e-5 * n:.5f}"
            "   0.908E-06    0.34"
            for n in range(1, rows + 1)
        )
    )
    minutes, rest = divmod(seconds, 60)
    return f"""\
 PROGRAM CPMD STARTED AT: Sat May 31 19:36:07 2008
                          VERSION 3.13.1

 {cpmd.STEPS[step]}

 MAXIMUM NUMBER OF STEPS:                      {rows} STEPS
  NCPU     NGW     NHG  PLANES  GXRAYS  HXRAYS ORBITALS Z-PLANES
{ranks}
 REAL SPACE MESH:        {"        ".join(f"{n:5}" for n in mesh)}
 WAVEFUNCTION CUTOFF(RYDBERG):      {cutoff:12.5f}
{body}
 ****************************************************************
   1  C    1.2345    2.3456    3.4567   -0.0001    0.0002   -0.0003
       CPU TIME :    0 HOURS  {int(minutes)} MINUTES {max(0, rest - 1):5.2f} SECONDS
   ELAPSED TIME :    0 HOURS  {int(minutes)} MINUTES {rest:5.2f} SECONDS

 PROGRAM CPMD ENDED AT:   Sat May 31 19:37:50 2008
"""


def of_both(benchmark="c120", processes=4, **second):
    """Return the output of both steps of CPMD; what is said of the second one."""
    return of_cpmd(benchmark, 1, processes) + of_cpmd(
        benchmark, 2, **{"processes": processes, "seconds": 208.2, **second}
    )


def of_spec(code="104.milc", processes=64, seconds="262.012345", status="S"):
    """Return a table of SPEC MPI2007."""
    header = ",".join(
        f'"{tune} # Ranks","Est. {tune} Run Time","Est. {tune} Ratio","{tune} Selected","{tune} '
        'Status"'
        for tune in ("Base", "Peak")
    )
    row = f"{code},{processes},{seconds},5.973,1,{status},,,,,"
    others = "\n".join(f"{each},,,,,NR,,,,,NR" for each in specmpi.CODES if each != code)
    return f"""\
valid,0

"Full Results Table"

Benchmark,{header},Description
{row},"mref iteration #1"
{others}
""
"Selected Results Table"

Benchmark,{header},Description
{row},"SelectedIteration (base #1; peak #1)"
{others}
""
SPECmpiM_base2007,,,
"Tested with SPEC MPI2007 ","v2.0.  Report","generated on ","Thu Nov 26 2026"
"""

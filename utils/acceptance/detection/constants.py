"""The numbers by which changes are found and judged, each with its provenance.

`[derived]`: it follows from the formula or the source that is named. `[chosen]`: what operators
care for, or what a format or a memory allows; no measurement can tell. `[tuned]`: no formula gives
it; it trades false alarms against nights until a change is found. Named are the families of
`tests/bench/detection.py` in which it shows; who alters it runs that bench before and after.

Those by which series that move together are found are `[tuned]` on the kinds of noise of
`tests/bench/families.py`.
"""

import math

import numpy as np

# ---- What is reported (changepoint.py, regressions/progress.py, regressions/judge.py)

#: Score of a change that is reported: one false alarm in 100 years of nightly samples of a series.
#: [derived] ln(100 years x 365 nights): a score is the logarithm of an average run length.
DEFAULT_THRESHOLD = math.log(36_500)
#: Number of series that the default threshold is meant for.
#: [derived] 100 series of one false alarm in 100 years have one a year together.
SERIES = 100
#: Smallest change of interest, as a fraction; smaller ones are not reported, however certain.
#: [chosen] nobody looks for the cause of less.
SMALLEST = 0.01
#: The smallest change that the detector is asked for. [derived] it sees no more of a sample than
#: 3.5 of its spreads, which of the steadiest series (`STEADIEST`) is less than `SMALLEST`.
SMALLEST_SEEN = SMALLEST / 2
#: Score of a suspicion that is worth a repeated measurement.
#: [tuned] all families: a series without changes has one in 23 to 62 samples.
SUSPICIOUS = 4.0
#: Series that are watched together, samples that are held at once. [chosen] the arrays of a block
#: fit a processor's cache, a batch stays below 1 GB.
BLOCK, BATCH = 500, 4_000_000

# ---- The sequential detector (changepoint.py, evidence.py)

#: A level of fewer samples than this is an excursion: the return from it is no regression.
#: [chosen] a week of nights.
BRIEF = 7
#: Lengths of the windows after a supposed change, in samples (Lai 1995, "window-limited", see
#: changepoint.py). [chosen] dense where neighbours differ; each one more costs time.
WINDOWS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 60])
#: What the evidence of each window is reduced by: the search over long windows must not cost what
#: the short ones need. [tuned] Gaussian and log-normal families, by `--calibrate`.
WINDOW_PENALTIES = np.array(
    [0, 0, 0.3, 0, 0, -0.1, 0.2, 0.6, 1.2, 1.7, 2.2, 2.7, 2.7, 2.7, 2.7, 2.7]
)
#: The first window that decides; those before it arouse a suspicion only.
#: [chosen] two outliers in a row must be no change.
FIRST_DECIDING = 2
#: Samples of a level that anything is compared with where no earlier level taught the noise, and
#: where one did. [tuned] Student t, 3, and the bimodal families: fewer tell too little of a spread.
LEVEL_FEWEST, TAUGHT_LEVEL_FEWEST = 7, 3
#: Samples of a series before its noise can be known. [derived] a level and the shortest window that
#: decides.
WATCHED_FROM = LEVEL_FEWEST + 3
#: Samples that are remembered beside those of the longest window. [chosen] half a year of nights.
REMEMBERED = 180
#: Up to the first number of samples noise is learnt at each one, up to the second at each fifth,
#: then at each tenth. [chosen] what it costs against how much a sample can still alter.
LEARN_EACH, LEARN_FIFTH = 20, 60
#: The newest samples do not teach the shape of the noise: a change would pass for correlation.
#: [tuned] the AR(1) families; Gaussian with a shift in night 60 to 90: more of them leave a young
#: series too few samples to tell its noise from correlation.
NOT_LEARNT = 4
#: Samples of a new level before the shape of the noise is learnt from them alone, and before its
#: centre and a wider bound are. [tuned] all families, the shifts that follow one another.
RELEARN_AFTER, CENTRE_AFTER = 60, 4
#: Samples of a level from which on its own variance counts where it is the larger one.
#: [tuned] Student t, 3, and the families with outliers.
OWN_VARIANCE_FROM = 8
#: Student's t from which on the samples of a supposed change do not teach the noise.
#: [derived] 3 standard errors: 0.3 % of a Gaussian.
DOUBTFUL_T = 3.0
#: In standard deviations: what may be outliers until so many samples are all of the new level.
#: [tuned] the families with outliers.
MAYBE_OUTLIERS, LASTING = 4.2, 5
#: A level is that of before an excursion within this many standard errors. [derived] 0.3 % of a
#: Gaussian lie outside.
SAME_LEVEL = 3
#: The line from evidence to scores: no family has more false alarms than its score says.
#: [tuned] all families, by `--calibrate`, as the largest offset that this leaves with the slope 1.
SCORE_OFFSET, SCORE_SLOPE = 1.4, 1.0

# ---- The noise of a series (evidence.py)

#: Least standard deviation of a logarithm. [chosen] what is steadier than 0.25 % is steady by
#: rounding: programs print 3 to 4 digits.
STEADIEST = 0.0025
#: Standard deviations between the deciles of a Gaussian. [derived] 2 Phi^-1(0.9).
DECILES = 2.563
#: Bounds of a sample, in standard deviations: of a history without outliers, and of one with them;
#: and from where on a sample is an outlier. [tuned] Gaussian (the first, which costs nearly
#: nothing), the families with outliers and Student t, 3 (the others).
BOUND, BOUND_ROUGH, OUTLIER = 3.75, 2.5, 4.2
#: Where the history has outliers: what part of the degrees of freedom is believed.
#: [tuned] the families with outliers and Student t, 3.
DOF_ROUGH = 0.5
#: Correlation: by how many standard errors it is taken for larger than it is seen, the largest that
#: is reckoned with, and what is assumed of it before there are samples. [tuned] the AR(1) families.
PHI_MORE, PHI_MOST, PHI_UNKNOWN = 1.0, 0.9, 0.45
#: Standard errors of no correlation up to which none is reckoned with, and from which on it counts
#: in full: of young series, and how much later of grown ones. [tuned] Gaussian, AR(1) 0.3.
PHI_DOUBTED, PHI_FULL, PHI_FULL_LATER = 0.25, 1.5, 0.5
#: From how many samples on the estimated correlation begins to be trusted, and is.
#: [tuned] the AR(1) families.
PHI_YOUNG, PHI_GROWN = 60, 105

# ---- Young series (evidence.py)

#: Samples of a level, and of a series before the first decision at the default threshold is
#: possible, however large and clear the change: 5 of a level and 2 of a change. [tuned] the bimodal
#: families.
YOUNG_PAST, FEWEST = 5, 7
#: Samples up to which a series is young. [tuned] all families: from here on the detector needs no
#: longer to see a gross change.
YOUNG_UNTIL = 40
#: Windows of samples after the change; one sample arouses a suspicion only. [chosen] up to the
#: shortest history that the detector watches.
YOUNG_WINDOWS = (1, 2, 3, 4, 6, 8, 10)
#: Smallest change of so young a series, and one that fewer than `YOUNG_SURE` samples show
#: (logarithms). [tuned] the bimodal families, and values with few digits: both are like less.
YOUNG_SIZE, YOUNG_LARGE, YOUNG_SURE = math.log(1.05), math.log(1.5), 4
#: How fast small ranges become seldom: the power of gap / range. [tuned] the worst family, bimodal
#: 95:5, of series of fewer than `YOUNG_UNTIL` samples.
YOUNG_POWER = 4
#: Smallest range that is believed of so few samples (logarithms). [chosen] programs print few
#: digits.
YOUNG_STEADIEST = 0.03
#: A level is that of before when this part of the way back is left at most. [chosen]
YOUNG_BACK = 0.3

# ---- Samples of different sets of nodes (node_sets.py)

#: Samples before and after one of which a set is compared with the sets that they were of. [tuned]
#: rotating nodes, with a shift of all: wider windows hold more of the shift, narrower ones fewer
#: sets.
SET_WINDOW = 15
#: Samples that tell the effects of sets. [chosen] as those that are held of a series.
SET_PAST = 240
#: Samples before anything is known of the effects of sets, half as many of them repetitions, which
#: give a standard deviation within a third; and those that are worked on at once. [chosen]
SET_FEWEST, SETS_AT_ONCE = 10, 2000

#: Repetitions of what was suspected, at least. [derived] with the suspected sample they are the
#: shortest window that decides: one good repetition takes nothing back.
AGAIN_FEWEST = 2

# ---- Near a limit (sequential.py)

#: How probably a level that is not beyond its limit fails, and one that is not inside passes; and
#: the runs of a case after which nothing more is told. [chosen] ten runs cost what a case is worth.
ERROR, LOOKS = 0.01, 10
#: Width of what counts as the limit itself (logarithm). [chosen] as `SMALLEST`.
ZONE = SMALLEST
#: Without a past: the share of runs on either side that do not count, and the correlation that is
#: assumed. [chosen] as Yuen does; [tuned] the AR(1) families: less fails good levels too often.
TRIMMED, PHI_ALONE = 0.2, 0.3

# ---- From when to when (state.py)

#: How likely noise alone may end a spell, or begin one again; and the fewest samples that do.
#: [chosen] one in 10,000 nights; one sample is no spell.
SPELL_CHANCE, SPELL_FEWEST = 1e-4, 2
#: Samples before the estimated start among which the change may have been. [chosen] more than the
#: step between two `WINDOWS` of up to 30 samples.
EARLIER = 8
#: The start of a change lies within this many samples, over the square of its size in spreads, and
#: never more than the second. [derived] at 95 %: Bai, "Least squares estimation of a shift in
#: linear processes", J. Time Ser. Anal. 15(5), 1994; the second is [chosen].
START_WITHIN, START_FARTHEST = 11.0, 10

# ---- Slow nights of a whole partition (common_mode.py, regressions/changes.py)

#: Samples before a sample that it is compared with, and the fewest. [chosen] two weeks; a median
#: absolute deviation of fewer than 6 says nothing.
NIGHT_WINDOW, NIGHT_WINDOW_FEWEST = 15, 6
#: The share of the cases that must have moved, and how many cases make a machine; how many places
#: a table may have for each of their samples. [chosen]
NIGHT_SHARE, NIGHT_CASES, NIGHT_WIDEST = 0.6, 6, 4
#: Spreads that this share must be worse by, and relative change that it must have.
#: [tuned] the bench's table of slow nights, all families; the second is `SMALLEST`.
NIGHT_SPREADS, NIGHT_LEAST = 2.0, SMALLEST
#: Nights before a night that tell how unusual it is, and the fewest. [chosen] as `REMEMBERED` and
#: the longest window together; [derived] fewer than 6 leave no excess over a threshold.
NIGHT_PAST, NIGHT_PAST_FEWEST = 240, 6
#: Nights between two that stand out by chance, when there are many nights before them. [chosen]
NIGHT_RARE = 2000
#: Shape of the generalized Pareto distribution of the common noise's tail. [derived] between that
#: of a Gaussian, 0 (seen as less), and that of Student's t of 3 degrees of freedom, 1/3.
NIGHT_TAIL = 0.3
#: Spells of slow nights that teach nothing, of the newest `NIGHT_PAST` nights. [chosen] a machine
#: that is slow more often is so usually.
NIGHT_SPELLS = 1
#: The smallest relative spread of a sample, and of the tail of nights, that is believed. [chosen]
NIGHT_STEADIEST = 0.002
#: Metrics of a case that tell whether the case was slow. [chosen] they move together: more cost
#: time and tell nothing.
CASE_METRICS = 7

# ---- What moved with an incident (regressions/incidents.py)

#: Samples before and after the incident's beginning that are compared, and the fewest. [chosen]
COMPANION_BEFORE, COMPANION_AFTER, COMPANION_FEWEST = 30, 10, 6
#: Standard errors that the medians must lie apart. [derived] 6e-5 of a Gaussian: of 1,000 series on
#: a partition none by chance.
COMPANION_APART = 4.0
#: The standard error of a median over that of a mean, of normal noise. [derived] sqrt(pi / 2).
MEDIAN_ERROR = 1.2533
#: Attributes, and nodes and findings, that are named of an incident. [chosen]
CAUSES_NAMED, NODES_NAMED = 3, 3
#: Samples of before that nodes and links are compared with. [chosen]
CAUSE_BEFORE = 10
#: The share of the series whose software must have changed. [chosen]
CAUSE_SHARE = 0.8
#: Nights that the beginnings of related changes may lie apart, if these are known exactly. [chosen]
INCIDENT_NEAR = 1
#: A change of the machine is over when its metrics are back by this share of the way. [chosen]
INCIDENT_BACK = 0.7

# ---- Lines of curves (loggp.py)

#: Sizes of a line at least, of a curve at least, and lines of a curve at most. [derived] two
#: parameters and one size that shows whether they fit; a curve has two ends; [chosen] eager, eager
#: in pieces, rendezvous, and one more.
LINE_FEWEST, LINES_FEWEST, LINES_MOST = 3, 6, 4
#: Relative noise below which nothing is looked for. [chosen] clocks and the digits of an output.
LINE_NOISE = 0.005
#: What one more line of a curve costs, in logarithms of the number of sizes, where the noise is
#: known. [derived] its two parameters one each, and where it begins two: so much a change point
#: costs where its place is searched (Zhang, Siegmund, Biometrics 2007). The other one is where the
#: lines alone tell the noise. [chosen] too few lines make it too large, which costs as well.
LINE_PRICE, LINE_PRICE_ALONE = 4, 3
#: Residuals count in full up to so many spreads, beyond that in proportion. [derived] Huber 1964:
#: it keeps 95 % of the efficiency with normal noise.
LINE_HUBER = 1.345
#: A time costs a line no more than one that is so many spreads off. [chosen] a stray one is no line
#: of its own, and three of them may be.
LINE_STRAY = 3.0
#: Turns of a fit at most, and the change of a weight, or of the noise, with which it ends. [chosen]
LINE_TURNS, LINE_SETTLED = 8, 0.01

# ---- Causes of what is slow (causes.py)

#: The least ratio (its logarithm) of each that is a difference. [chosen] links, routes and
#: processors that differ do so by more; a 99th percentile is known to a factor.
CAUSE_LEAST = {"start": 0.05, "gap": 0.05, "overhead": 0.15, "middle": 0.12, "tail": 0.7}
#: Standard errors that a difference is beyond. [derived] of two sides with five parameters one in
#: 100 shows a difference that is none.
CAUSE_CERTAIN = 3.0
#: Standard errors of a 95 % interval. [derived] normal noise.
CAUSE_INTERVAL = 1.96
#: With such a standard error of its logarithm a ratio may be any. [chosen] `math.exp` ends at 709.
CAUSE_ANY = 100.0
#: Of the least difference so many times is the same, if it is certainly no more. [chosen]
CAUSE_ALIKE = 3.0
#: What is so small a part of the largest difference, and no more than the second, is none beside
#: it; of what is not known well it is certainly less than the part `CAUSE_WITHIN`. A step that is
#: not known to that part of what switches take is no route for certain. [chosen]
CAUSE_BESIDE, CAUSE_BESIDE_MOST, CAUSE_WITHIN = 0.2, 0.25, 0.35
#: By how much the clock of a processor changes at most, from its lowest to its highest. [chosen]
CAUSE_CLOCKS = 4.0
#: The ratio (its logarithm) by which both L+2o and G are others on another way. [chosen]
CAUSE_ANOTHER = 0.25
#: By how much a factor, or a step, may be off the one that facts say. [chosen] headers and what
#: overlaps; lanes and rates are at least 20 % apart.
CAUSE_NEAR = 0.1
#: Messages of which the 99th percentile is told, in bytes. [chosen] longer ones are few in a loop.
CAUSE_SHORT = 1024

# ---- Drift and the baseline (regressions/changes.py, regressions/new_baseline.py)

#: Samples whose median is compared with the baseline. [chosen] a working week of nights.
DRIFT_SAMPLES = 5
#: Spreads of one sample that the median must be off, and the share of the tolerance. [derived] the
#: median of 5 is then 5.6 of its own standard errors off; the second is [chosen].
DRIFT_SPREADS, DRIFT_SHARE = 3.0, 0.5
#: The drift is over when the median is back within this share of what it takes to be one. [chosen]
DRIFT_BACK = 0.5
#: Samples that a baseline takes at least, and the nights that it is made of by default. [chosen]
#: Samples of a simulation that show that it repeats. [derived] one cannot.
BASELINE_FEWEST, BASELINE_NIGHTS, RECORDING_FEWEST = 5, 14, 2
#: Significant digits of a baseline's value. [chosen] more than any program prints of a time.
BASELINE_DIGITS = 6
#: A sample's spread must fit this many times into the tolerance. [derived] else more than 0.3 % of
#: good nights would fail.
BASELINE_SPREADS = 3.0
#: One sample, or this share of them, may lie further from the median than is tolerated. [chosen]
#: The spread does not see a change that has fewer samples than the level before it.
BASELINE_STRAYS = 0.1

# ---- What is no longer measured, and sessions (regressions/changes.py, regressions/history.py)

#: A series is stale when its newest sample is older than this (s), and older than this many times
#: the usual time between its samples. [chosen] a week.
STALE, STALE_TIMES = 7 * 86400.0, 3.0
#: Time (s) for which a change of unknown direction is worth a note. [chosen]
RECENT = 10 * 86400.0
#: Sessions in a row that must have measured a metric before it can vanish. [chosen]
VANISHED_BEFORE = 3
#: Sessions after which what vanished is how things are, and no alert any more. [chosen] a week.
VANISHED_FORGOTTEN = 7
#: Samples of a history that are read at once, and how many such blocks stay; samples whose times
#: are held. [chosen]
READ_BLOCK, READ_BLOCKS, TIMES_HELD = 400_000, 4, 20
#: Seconds that a session may end before the one that was stored before it. [chosen] sessions run
#: side by side, and wait for each other when they are stored.
CLOCK_SLACK = 3600.0


#: Rows of a family that are held, and how many it needs before it is judged, and after each change
#: again. [chosen] as `REMEMBERED` and the longest window together; [tuned] Student t, 3 and
#: log-normal: fewer tell too little of a tail.
FAMILY_HELD, FAMILY_FEWEST = 240, 60
#: Rows from one learning to the next. [chosen] as `LEARN_FIFTH` and later.
FAMILY_EACH = 10
#: Changes that are looked for, in spreads of the pool. [chosen] from one that takes weeks to one
#: that is seen at once; each one more costs time.
POOL_SIZES = np.array([0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8])
#: The steps of a pool's density, in its spreads, and all of them. [chosen] half of a kernel; as far
#: as no more evidence is in the tail.
POOL_STEP = 0.2
#: [derived] from the step.
POOL_GRID = np.round(np.arange(-14, 14 + POOL_STEP / 2, POOL_STEP), 6)
#: Width of the kernel in spreads, by how much wider it is a spread farther out, and how many
#: samples the floor counts as. [tuned] the bimodal families (the first), Student t, 3 and
#: log-normal (the others).
POOL_KERNEL, POOL_WIDER, POOL_FLOOR = 0.45, 0.3, 0.1
#: Shapes that a pool's noise may have beside that of its kernels: degrees of freedom of Student's
#: t, none for a Gaussian, and its 0.9 quantile, by which its scale is fitted. [chosen] from no tail
#: to one without a skewness; [derived] quantiles.
POOL_SHAPES = ((math.inf, 1.2816), (8.0, 1.3968), (4.0, 1.5332), (2.5, 1.7307))
#: How many of the shapes, counted from the first one, have a light tail, and what is taken off
#: where the others are as likely as certain. [tuned] Student t, 3 and 2 % outliers: a tail makes
#: false alarms, and where there is none nothing need be paid.
POOL_LIGHT, POOL_HEAVY = 2, 2.5
#: A scale that was learnt from so many samples is known by as many degrees of freedom, times this.
#: [derived] the variance of a spread between deciles is 0.79 / n, of a standard deviation 0.5 / n.
POOL_KNOWN = 0.6
#: What a shape with two scales is thought less likely by. [chosen] one number more to fit.
POOL_TWO_SCALES = 1.0
#: Smallest scale of a shape, in spreads. [chosen] one step of the grid.
POOL_NARROWEST = 0.2
#: What one row may say at most where members have noise in common. [chosen] less than it takes: one
#: night is no change.
POOL_MOST = 5.5
#: What a change costs as its level is known from few samples, times their number and the square of
#: its size in spreads. [derived] 3.14 L^2 of evidence L, which is about 7 here: pi / 2 is the
#: variance of a median, and 2 L / size^2 the rows that a change takes.
POOL_LEVEL = 150.0
#: What changes of less than 2.75 spreads cost. [tuned] AR(1) and log-normal: most false alarms are
#: small and long ones, and a change of that size takes weeks anyway.
POOL_SMALL = 1.5 * np.maximum(2.75 - POOL_SIZES, 0)
#: Bound of a member's deviation, in standard deviations. [tuned] 2 % outliers: with a tighter one
#: common outliers look like the changes that are sought.
FAMILY_BOUND = 5.0
#: Spread of the floor of independent members, of how many at least, and what they cost. [tuned] all
#: families without correlation; the bimodal ones (the second): fewer bounded members make no
#: Gaussian.
POOL_GAUSSIAN, POOL_MANY, POOL_INDEPENDENT = 1.8, 8, 1.5
#: By how much the scatter of the pool may exceed that of independent members at most.
#: [tuned] correlation 0 and 0.5; beside it 4 standard errors of a variance [derived].
FAMILY_INDEPENDENT = 0.7
#: What a pool costs: of all members, of the first half and of the last. [chosen] ln 0.9 and
#: ln 0.05: their chances of being what moved sum to 1.
POOL_COSTS = np.array([0.105, 3.0, 3.0])
#: Evidence from which on the rows of a supposed change do not teach, and the longest such change.
#: [tuned] all families; [chosen] as the longest of `WINDOWS`.
FAMILY_DOUBTED, FAMILY_LONGEST = 2.0, 60
#: The newest rows, which do not teach. [tuned] AR(1): longer than `NOT_LEARNT`, rows are many here.
FAMILY_NOT_LEARNT = 8
#: From evidence to scores. [tuned] Gaussian families; what has a tail or is
#: correlated pays for it, below. By renewal theory (Siegmund, Sequential Analysis, 1985, ch. 10)
#: sums of steps as large as these have 5 to 10 exp(h) rows between two crossings of h. Seeds that
#: nothing was tuned on had 0.3 false alarms in 100 family-years over all, and more than 1 where the
#: common noise has 2 % outliers. Most noise that is no Gaussian is found later than its bound + 1.
FAMILY_OFFSET = 3.0
#: What is taken off for few samples, over their number. [tuned] AR(1) at correlation 0: of so few
#: samples a correlation between nights is seldom seen.
FAMILY_YOUNG = 40.0
#: What is taken off for a pool's skewness towards the worse, and for its correlation, times each.
#: [tuned] the log-normal families at correlation 0.5, the AR(1) families.
FAMILY_SKEWED, FAMILY_CORRELATED = 0.7, 2.5
#: Members that must have moved. [chosen] one has its own evidence.
FAMILY_MEMBERS = 2
#: Nodes of a set at most whose series are those of a node. [chosen] a pair: of a larger job one
#: node is a small part.
FAMILY_NODES = 2
#: Share of the members whose software is another one when it is the family's. [chosen] as
#: `CAUSE_SHARE`.
FAMILY_RENEWED = 0.8
#: Rows after other software in which a change that began with it, or later, needs less evidence,
#: and by how much less. [chosen] a week of nights; [derived] ln(365 / 7 / 4): with new software
#: four times a year these rows have no more false alarms than all others have.
FAMILY_AFTER, FAMILY_EXPECTED = 7, 2.5
#: Members that make a family, and the most that are watched, evenly spread; families that are
#: watched together. [chosen] two say little more than each; they move together: more cost time and
#: tell little; memory.
FAMILY_LEAST, FAMILY_MOST, FAMILY_BLOCK = 3, 10, 200
#: Families count as so many when the threshold of all is set. [chosen] a quarter of the false
#: alarms that series by themselves may have.
FAMILY_SHARE = 4
#: A change of a series and one of its family are the same when they begin within so many samples.
#: [chosen] as `START_FARTHEST`.
FAMILY_NEAR = 10
#: A member moved with its family by this share of the change, or by so many standard errors.
#: [derived] nearer to the new level than to the old one; 0.3 % of a Gaussian.
FAMILY_PARTED, FAMILY_MOVED = 0.5, 3.0

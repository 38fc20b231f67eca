"""The numbers by which series that move together are found, as in `constants.py`.

`[tuned]` are they on the kinds of noise of `tests/bench/families.py`.
"""

import math

import numpy as np

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

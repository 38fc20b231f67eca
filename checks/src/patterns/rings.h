/* The ring and random patterns of b_eff, and its message sizes. */
#ifndef RINGS_H
#define RINGS_H

#include "schedule.h"

enum { RINGS = 6, BEFF_SIZES = 21 };

/* The ranks a ring of pattern 0 ... RINGS-1 has about. */
int ring_size(int ranks, int pattern);
/* Neighbours in pattern 0 ... RINGS-1 (rings), RINGS ... (random): `to` is right, `from` left. */
void rings_schedule(struct partners *partners, int ranks, int pattern);
/* The message sizes in bytes; lmax is over 4,096. */
void beff_sizes(int *sizes, long lmax);

#endif

#include "rings.h"

#include "patterns.h"

#include <math.h>
#include <stdlib.h>

static int at_least(int a, int b) { return a > b ? a : b; }
static int at_most(int a, int b) { return a < b ? a : b; }

int ring_size(int ranks, int pattern)
{
    const int sizes[RINGS] = {2, 4, 8, at_least(16, ranks / 4), at_least(32, ranks / 2), ranks};
    return at_most(sizes[pattern], ranks);
}

/* One ring of the members in this order. */
static void ring(struct partners *partners, const int *members, int count)
{
    for (int i = 0; i < count; i++)
        partners[members[i]] =
            (struct partners){members[(i + 1) % count], members[(i + count - 1) % count]};
}

void rings_schedule(struct partners *partners, int ranks, int pattern)
{
    int *order = allocate((size_t)ranks, sizeof *order);
    if (pattern >= RINGS) {
        random_order(order, ranks, (uint64_t)common.seed, (uint64_t)(pattern - RINGS));
        ring(partners, order, ranks);
        free(order);
        return;
    }
    for (int rank = 0; rank < ranks; rank++)
        order[rank] = rank;
    int size = ring_size(ranks, pattern);
    /* ranks/size + 0.4, rounded down; no ring of one rank. */
    int rings = at_least(1, at_most((10 * ranks + 4 * size) / (10 * size), ranks / 2));
    int low = ranks / rings, larger = ranks % rings; /* so many rings have one rank more */
    bool larger_first = low % 2;                     /* the even ones */
    for (int k = 0, begin = 0; k < rings; k++) {
        bool more = larger_first ? k < larger : k >= rings - larger;
        ring(partners, order + begin, low + more);
        begin += low + more;
    }
    free(order);
}

void beff_sizes(int *sizes, long lmax)
{
    const int fixed = 12; /* 1 ... 4,096 are powers of two */
    for (int k = 0; k < BEFF_SIZES; k++) {
        double share = (double)(k - fixed) / (BEFF_SIZES - 1 - fixed);
        sizes[k] = k <= fixed ? 1 << k : (int)lround(4096 * pow((double)lmax / 4096, share));
    }
}

#include "schedule.h"

#include "patterns.h"

#include <stdlib.h>

int ring_distance(int a, int b, int ranks)
{
    int apart = abs(a - b);
    return apart < ranks - apart ? apart : ranks - apart;
}

static void nobody(struct partners *partners, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        partners[rank] = (struct partners){NOBODY, NOBODY};
}

static void pair(struct partners *partners, int a, int b)
{
    partners[a] = (struct partners){b, b};
    partners[b] = (struct partners){a, a};
}

/* Congestion-controlled AAPC. Phase 1: to the next higher rank, from the next lower one; the
 * distance grows by one each phase. Last phase, ranks-1: to the lower neighbour. */
void aapc_schedule(struct partners *partners, int ranks, long phase)
{
    int shift = (int)phase;
    for (int rank = 0; rank < ranks; rank++)
        partners[rank] =
            (struct partners){(rank + shift) % ranks, (rank - shift + ranks) % ranks};
}

/* Simple pairwise. The paper gives the distance of phase p, which is p, not the pairs. Taken here:
 * the ranks 0, p, 2p, ... (modulo ranks) form a ring, as do 1, 1+p, ...; along each ring the 1st
 * and 2nd are a pair, the 3rd and 4th, and so on. So all pairs have the distance p exactly, and
 * phases p and ranks-p take the two halves of the same ring. The last rank of an odd ring waits. */
void simple_schedule(struct partners *partners, int ranks, long phase)
{
    int shift = (int)phase, rings = ranks;
    for (int rest = shift; rest;) { /* the greatest common divisor is the number of rings */
        int next = rings % rest;
        rings = rest;
        rest = next;
    }
    nobody(partners, ranks);
    for (int ring = 0; ring < rings; ring++) {
        int rank = ring;
        for (int k = 0; k + 1 < ranks / rings; k += 2) {
            int other = (rank + shift) % ranks;
            pair(partners, rank, other);
            rank = (other + shift) % ranks;
        }
    }
}

/* Cumulative pairwise. Phase p has p pairs, the last has ranks/2. The paper does not say which.
 * Taken here: pair k is (k, k + ranks/2), so that all pairs have the same distance, the farthest,
 * and ranks side by side on a node are in different pairs. Of an odd number the last rank waits. */
void cumulative_schedule(struct partners *partners, int ranks, long phase)
{
    nobody(partners, ranks);
    for (int rank = 0; rank < phase; rank++)
        pair(partners, rank, rank + ranks / 2);
}

/* Random pairwise. Each phase shuffles all ranks anew, by seed and phase; the 1st and 2nd are a
 * pair, the 3rd and 4th, and so on. Of an odd number the last one waits. */
void random_schedule(struct partners *partners, int ranks, long phase)
{
    int *order = allocate((size_t)ranks, sizeof *order);
    random_order(order, ranks, (uint64_t)common.seed, (uint64_t)phase);
    nobody(partners, ranks);
    for (int i = 0; i + 1 < ranks; i += 2)
        pair(partners, order[i], order[i + 1]);
    free(order);
}

void say_partners(int ranks, const char *key, long number, int rank, struct partners partners)
{
    record_begin(stdout, "schedule");
    put_count("ranks", ranks);
    put_count(key, number);
    put_count("rank", rank);
    put_count("to", partners.to);
    put_count("from", partners.from);
    record_end();
}

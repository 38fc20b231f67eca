#include "patterns.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void random_order(int *order, int ranks, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = random_next(&state) + stream;
    for (int i = 0; i < ranks; i++)
        order[i] = i;
    for (int i = ranks - 1; i > 0; i--) {
        /* The remainder favours small numbers by 2^-48 at most: no schedule shows that. */
        int j = (int)(random_next(&state) % (uint64_t)(i + 1));
        int rank = order[i];
        order[i] = order[j];
        order[j] = rank;
    }
}

/* curves BYTES: for each line that is read the curve of ranks 0 and 1 up to so many bytes, a line as in
 * all-pairs.txt, for tests/bench/causes.py. The file of `patterns` measures it that does in a job. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "all_pairs.h"

#include <stdlib.h>
#include <time.h>

static void put(const char *key, int count, const double *seconds)
{
    printf(",\"%s\":[", key);
    for (int i = 0; i < count; i++)
        printf("%s%.4f", i ? "," : "", seconds[i] * 1e6);
    printf("]");
}

/* Rank 1 sleeps meanwhile: another one of these programs may measure. */
static int getchar_of_all(void)
{
    int byte = world.rank ? 0 : getchar(), is_there = 0;
    if (!world.rank)
        CHECKED(MPI_Send(&byte, 1, MPI_INT, 1, 0, all));
    while (world.rank && !is_there) {
        CHECKED(MPI_Iprobe(0, 0, all, &is_there, MPI_STATUS_IGNORE));
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    if (world.rank)
        CHECKED(MPI_Recv(&byte, 1, MPI_INT, 0, 0, all, MPI_STATUS_IGNORE));
    return byte;
}

int main(int argc, char **argv)
{
    world_begin(&argc, &argv);
    all_pairs_options.bytes = argc > 1 ? atol(argv[1]) : 1 << 20;
    nodes = world.ranks;
    CHECKED(MPI_Comm_dup(MPI_COMM_WORLD, &all));
    round_begin();
    for (int pass = 1;; pass++) {
        if (getchar_of_all() == EOF)
            break;
        struct report mine = {0}, other;
        struct part part = {.to = world.rank ? NOBODY : 1, .from = world.rank ? 0 : NOBODY,
            .tag = pass, .stage = CURVE, .patience = patience(1, 3)};
        curve(&part, &mine);
        if (world.rank) {
            CHECKED(MPI_Send(&mine, (int)sizeof mine, MPI_BYTE, 0, 0, all));
            continue;
        }
        CHECKED(MPI_Recv(&other, (int)sizeof other, MPI_BYTE, 1, 0, all, MPI_STATUS_IGNORE));
        printf("{\"bytes\":[");
        for (int i = 0; i < mine.curve.sizes; i++)
            printf("%s%ld", i ? "," : "", curve_bytes(i));
        printf("]");
        put("time_us", mine.curve.sizes, mine.curve.median);
        put("late_us", mine.curve.sizes, mine.curve.late);
        put("overhead_us", 2, (double[]){mine.curve.overhead, other.curve.overhead});
        printf("}\n");
        fflush(stdout);
    }
    return MPI_Finalize();
}

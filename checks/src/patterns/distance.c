/* How latency and bandwidth between two ranks depend on their distance: Figures 2 and 3 of Fatoohi
 * et al. 2006. Ping-pong of rank 0 with the ranks 1, 2, 4, ... and the last one, one after another.
 * The paper does not say which ranks; rank 0 is one of them here. */
#include "patterns.h"
#include "pingpong.h"

#include <stdlib.h>

static struct numbers sizes = {.count = 14,
    .values = {1, 8, 64, 512, 1024, 4096, 16384, 65536, 131072, 262144, 524288, 1048576, 2097152,
        4194304}};

static const struct setting options[] = {
    {"sizes", LIST, &sizes, 1, 1 << 30,
        "of the messages, bytes (1,8,64,512,1k,4k,16k,64k,128k,256k,512k,1m,2m,4m)"},
    REPEAT,
};

/* The next distance; the last one is ranks-1, and then comes a larger one. */
static int next(int d, int ranks)
{
    int last = ranks - 1;
    return d < last && 2 * d > last ? last : 2 * d;
}

static int distances(int ranks)
{
    int count = 0;
    for (int d = 1; d < ranks; d = next(d, ranks))
        count++;
    return count;
}

static void run(void)
{
    size_t largest = (size_t)sizes.values[sizes.count - 1];
    header("memory", "%zu", 2 * largest);
    unsigned char *out = allocate(largest, 1), *in = allocate(largest, 1);
    say_expected((long)sizes.count * distances(world.ranks));
    table("distance",
        "size[B] distance[ranks] repetitions[1] loop[us] latency[us] bandwidth[MB/s]");
    for (int i = 0; i < sizes.count; i++)
        for (int d = 1; d < world.ranks; d = next(d, world.ranks)) {
            int bytes = (int)sizes.values[i];
            struct timing timing = pingpong(out, in, bytes, d);
            double us = one_way(timing);
            say("%d %d %ld %.3f %.6g %.6g\n", bytes, d, timing.repetitions,
                timing.shortest * 1e6, us, bytes / us);
        }
    free(in);
    free(out);
}

static void print(int ranks)
{
    for (int d = 1; d < ranks; d = next(d, ranks))
        say("%d %d %d\n", ranks, 0, d);
}

const struct pattern distance = {.name = "distance",
    .help = "ping-pong of rank 0 with the ranks 1, 2, 4, ... and the last",
    .options = options,
    .count = sizeof options / sizeof *options,
    .least_ranks = 2,
    .run = run,
    .schedule = print,
    .schedule_columns = "ranks[1] rank[1] to[1]"};

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
    say_plan(2 * largest, (long)sizes.count * distances(world.ranks));
    unsigned char *out = allocate(largest, 1), *in = allocate(largest, 1);
    for (int i = 0; i < sizes.count; i++)
        for (int d = 1; d < world.ranks; d = next(d, world.ranks)) {
            int bytes = (int)sizes.values[i];
            struct timing timing = pingpong(out, in, bytes, d);
            double us = one_way(timing);
            record_begin(stdout, "distance");
            put_count("size_B", bytes);
            put_count("distance", d);
            put_count("repetitions", timing.repetitions);
            put_number("loop_us", timing.shortest * 1e6);
            put_number("latency_us", us);
            put_number("bandwidth_MBps", bytes / us);
            record_end();
        }
    free(in);
    free(out);
}

static void print(int ranks)
{
    for (int d = 1; d < ranks; d = next(d, ranks)) {
        record_begin(stdout, "schedule");
        put_count("ranks", ranks);
        put_count("rank", 0);
        put_count("to", d);
        record_end();
    }
}

const struct pattern distance = {.name = "distance",
    .help = "ping-pong of rank 0 with the ranks 1, 2, 4, ... and the last",
    .options = options,
    .count = sizeof options / sizeof *options,
    .least_ranks = 2,
    .run = run,
    .schedule = print};

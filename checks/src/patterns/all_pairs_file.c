/* The file of values; utils/acceptance/suites/patterns/all_pairs_output.py has its form and reads
 * it. What a round measured is in the file before the next one begins. */
#include "all_pairs.h"

#include <math.h>

static const char *const quantities[] = {"latency", "bandwidth", "both"};
static FILE *file;

static void flush(void)
{
    if (fflush(file) || ferror(file))
        die("%s cannot be written: is the file system full?", all_pairs_options.output);
}

void file_open(const struct leader *leader, int rounds, double estimate)
{
    const long *repetitions = leader->order->repetitions;
    file = fopen(all_pairs_options.output, "w");
    if (!file)
        die("%s cannot be written: --output requires a file in a folder that is there",
            all_pairs_options.output);
    fprintf(file, "# version: %s\n# pattern: all-pairs\n# ranks: %d\n# bytes: %ld\n",
        PATTERNS_VERSION, world.ranks, all_pairs_options.bytes);
    fprintf(file, "# timeout: %g\n# limit: %g\n# repetitions: %ld %ld %ld\n",
        all_pairs_options.timeout, all_pairs_options.limit, repetitions[LATENCY],
        repetitions[BANDWIDTH], repetitions[BOTH]);
    fprintf(file, "# schedule: %s\n# rounds: %d\n# estimate: %.1f\n",
        all_pairs_options.rounds ? "chosen" : "shifts", rounds, estimate);
    for (int rank = 0; rank < world.ranks; rank++)
        fprintf(file, "# node %d: %s\n", rank, leader->names[rank]);
    fprintf(file, "# values\n");
    flush();
}

/* Five digits that count: 3 million of such values take 20 MB. */
static void write_value(double value)
{
    int digits = value > 0 ? 4 - (int)floor(log10(value)) : 0;
    if (value > 0)
        fprintf(file, " %.*f", digits > 0 ? digits : 0, value);
    else
        fprintf(file, " -");
}

void file_round(const struct leader *leader, const int *to, int number)
{
    if (all_pairs_options.rounds) {
        fprintf(file, "pairs %d", number);
        for (int rank = 0; rank < world.ranks; rank++)
            if (to[rank] >= 0)
                fprintf(file, " %d>%d", rank, to[rank]);
        fprintf(file, "\n");
    }
    for (int rank = 0; rank < world.ranks; rank++)
        if (to[rank] >= 0 && leader->why[rank])
            fprintf(file, "failed %d %d %d %s\n", number, rank, to[rank], leader->why[rank]);
    for (int q = 0; q < QUANTITIES; q++) {
        fprintf(file, "%s %d", quantities[q], number);
        for (int rank = 0; rank < world.ranks; rank++)
            write_value(leader->values[q][rank]);
        fprintf(file, "\n");
    }
    flush();
}

void file_again(const struct leader *leader, int sender, int receiver, bool control)
{
    if (leader->why[sender])
        fprintf(file, "failed again %d %d %s\n", sender, receiver, leader->why[sender]);
    for (int q = 0; q < QUANTITIES && !leader->why[sender]; q++) {
        fprintf(file, "again %s %d %d", quantities[q], sender, receiver);
        write_value(leader->values[q][sender]);
        fprintf(file, " %s\n", control ? "control" : "suspect");
    }
    flush();
}

void file_end(int not_measured, long not_again)
{
    fprintf(file, "# not_measured: %d\n# not_again: %ld\n# end\n", not_measured, not_again);
    flush();
    if (fclose(file))
        die("%s cannot be written: is the file system full?", all_pairs_options.output);
}

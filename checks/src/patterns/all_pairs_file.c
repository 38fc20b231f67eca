/* The file of values; utils/acceptance/suites/all_pairs.py has its form and reads it. What a round
 * measured is in the file before the next one begins. */
#include "all_pairs.h"

#include <math.h>
#include <stdlib.h>

static const char *const quantities[] = {"latency_us", "bandwidth_MBps", "both_MBps"};
static FILE *file;

static void flush(void)
{
    if (fflush(file) || ferror(file))
        die("%s cannot be written: is the file system full?", all_pairs_options.output);
}

void file_open(const struct leader *leader, int rounds, double estimate)
{
    file = fopen(all_pairs_options.output, "w");
    if (!file)
        die("%s cannot be written: --output requires a file in a folder that is there",
            all_pairs_options.output);
    record_begin(file, "job");
    put_text("version", PATTERNS_VERSION);
    put_count("ranks", nodes);
    put_count("bytes", all_pairs_options.bytes);
    put_number("timeout_s", all_pairs_options.timeout);
    put_number("limit_s", all_pairs_options.limit);
    put_counts("repetitions", QUANTITIES, leader->order->repetitions);
    put_text("schedule", all_pairs_options.rounds ? "chosen" : "shifts");
    put_count("rounds", rounds);
    put_number("estimate_s", round(10 * estimate) / 10);
    put_texts("nodes", nodes, leader->names);
    record_end();
    flush();
}

/* Why a value is missing comes before the values. */
static void write_failed(const struct leader *leader, const int *to)
{
    for (int rank = 0; rank < nodes; rank++)
        if (to[rank] >= 0 && leader->why[rank]) {
            record_begin(file, "failed");
            put_count("sender", rank);
            put_count("receiver", to[rank]);
            put_text("why", leader->why[rank]);
            record_end();
        }
}

static void write_values(const struct leader *leader)
{
    for (int q = 0; q < QUANTITIES; q++)
        put_values(quantities[q], nodes, leader->values[q]);
    record_end();
    flush();
}

void file_inside(const struct leader *leader, const int *to)
{
    write_failed(leader, to);
    record_begin(file, "round");
    put_count("number", 0);
    write_values(leader);
}

void file_round(const struct leader *leader, const int *to, int number)
{
    write_failed(leader, to);
    record_begin(file, "round");
    put_count("number", number);
    if (all_pairs_options.rounds) {
        long *receivers = allocate((size_t)nodes, sizeof *receivers);
        for (int rank = 0; rank < nodes; rank++)
            receivers[rank] = to[rank] >= 0 ? to[rank] : -1;
        put_counts("to", nodes, receivers);
        free(receivers);
    }
    write_values(leader);
}

void file_again(const struct leader *leader, int sender, int receiver, bool control)
{
    record_begin(file, "again");
    put_text("because", control ? "control" : "suspect");
    put_count("sender", sender);
    put_count("receiver", receiver);
    if (leader->why[sender])
        put_text("why", leader->why[sender]);
    for (int q = 0; q < QUANTITIES && !leader->why[sender]; q++)
        put_number(quantities[q], leader->values[q][sender]);
    record_end();
    flush();
}

static void put_times(const char *key, int count, const double *seconds)
{
    double us[SIZES];
    for (int i = 0; i < count; i++)
        us[i] = seconds[i] * 1e6;
    put_values(key, count, us);
}

void file_curve(const struct leader *leader, int sender, int receiver, bool control)
{
    const struct curve *curve = &leader->reports[sender].curve;
    const char *why = leader->why[sender];
    long bytes[SIZES];
    for (int i = 0; i < curve->sizes; i++)
        bytes[i] = curve_bytes(i);
    record_begin(file, "curve");
    put_text("because", control ? "control" : "suspect");
    put_count("sender", sender);
    put_count("receiver", receiver);
    if (why)
        put_text("why", why);
    else {
        put_counts("bytes", curve->sizes, bytes);
        put_times("time_us", curve->sizes, curve->median);
        put_times("late_us", curve->sizes, curve->late);
        put_times("overhead_us", 2,
            (double[]){curve->overhead, leader->reports[receiver].curve.overhead});
    }
    record_end();
    flush();
}

void file_end(int not_measured, long not_again)
{
    record_begin(file, "end");
    put_count("not_measured", not_measured);
    put_count("not_again", not_again);
    record_end();
    flush();
    if (fclose(file))
        die("%s cannot be written: is the file system full?", all_pairs_options.output);
}

#include "patterns.h"

#include <math.h>

/* Below this many seconds a loop is timed too coarsely: the barrier and the clock show in it. A
 * simulation has an exact clock; who asks for shorter loops gets them. */
double least_loop(void)
{
    return fmin(1e-3, common.time * 1e-3);
}

double time_loop(step *once, void *context, long repetitions, bool active)
{
    CHECKED(MPI_Barrier(MPI_COMM_WORLD));
    double begin = MPI_Wtime();
    for (long i = 0; active && i < repetitions; i++)
        once(context);
    return MPI_Wtime() - begin;
}

void say_plan(size_t memory, long measurements)
{
    /* The loops that count, and about as much as one of them for warm-up and calibration. */
    double loops = (double)measurements * (double)(common.repeats + 1);
    record_begin(stdout, "plan");
    put_count("memory_B", (long)memory);
    put_number("expected_s", loops * common.time * 1e-3);
    record_end();
}

static struct timing timed(step *once, void *context, long repetitions, bool active)
{
    double mine = time_loop(once, context, repetitions, active);
    /* The largest of both: of -seconds, and of seconds. */
    double ends[2] = {active ? -mine : -HUGE_VAL, active ? mine : 0};
    CHECKED(MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return (struct timing){repetitions, mine, -ends[0], ends[1]};
}

/* How many repetitions the loop requires, by one that was timed: each rank gets the same. */
static long enough(struct timing timing)
{
    double factor = fmax(common.time * 1e-3 / fmax(timing.longest, 1e-9),
        1.2 * least_loop() / fmax(timing.shortest, 1e-9));
    return (long)fmin(fmax(ceil(factor * (double)timing.repetitions), 1), 1e9);
}

/* A loop of so many repetitions, or more if it takes less than 1 ms. */
static struct timing long_enough(step *once, void *context, bool active, long repetitions)
{
    struct timing timing = timed(once, context, repetitions, active);
    while (timing.shortest < least_loop()) {
        long required = enough(timing);
        timing = timed(once, context,
            required > timing.repetitions ? required : timing.repetitions * 2, active);
    }
    return timing;
}

struct timing measure(step *once, void *context, bool active)
{
    long repetitions = common.warmup > 0 ? common.warmup : 1;
    struct timing timing = timed(once, context, repetitions, active); /* the warm-up */
    /* A short loop says little of a long one: grow in steps until it is near what is required. */
    while (timing.longest < common.time * 0.5e-3 || timing.shortest < least_loop()) {
        double required = (double)enough(timing), before = (double)timing.repetitions;
        repetitions = (long)fmax(fmin(required, 100 * before), before + 1);
        timing = timed(once, context, repetitions, active);
    }
    repetitions = enough(timing);
    struct timing best = {.repetitions = 1, .longest = HUGE_VAL};
    for (long i = 0; i < common.repeats; i++) {
        timing = long_enough(once, context, active, repetitions);
        repetitions = timing.repetitions;
        if (timing.longest / (double)timing.repetitions < best.longest / (double)best.repetitions)
            best = timing;
    }
    return best;
}

int order_of_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

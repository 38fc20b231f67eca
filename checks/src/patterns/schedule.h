/* Who sends to whom in the phases of a dense pattern. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

/* What a rank does in a phase: NOBODY in both, it waits. */
struct partners {
    int to, from;
};
enum { NOBODY = -1 };

/* Fill partners[0 ... ranks-1] for a phase, which count from 1. */
typedef void schedule(struct partners *partners, int ranks, long phase);
schedule aapc_schedule, simple_schedule, cumulative_schedule, random_schedule;

/* The record of one rank: with whom it communicates in what `key` says, its phase or pattern. */
void say_partners(int ranks, const char *key, long number, int rank, struct partners partners);

/* How far two ranks are apart when the ranks are put on a ring. */
int ring_distance(int a, int b, int ranks);

#endif

/* All pairs: what its files share. Rank 0 leads: it says who sends to whom (an order), all ranks
 * measure, and each reports to rank 0, which writes. Memory is O(ranks) on each of them.
 *
 * The ranks 0 to nodes-1 stand for the nodes. With --ranks 2 rank nodes+i is the second one of node
 * i: it sleeps but for what is measured inside of the nodes, which is a round of i -> i.
 *
 * Ranks wait in loops of MPI_Test that end at a time-out, and meet in a barrier of our own: MPI's
 * would wait for ever for a rank that hangs. */
#ifndef ALL_PAIRS_H
#define ALL_PAIRS_H

#include "patterns.h"
#include "schedule.h"

#include <stdio.h>

enum quantity { LATENCY, BANDWIDTH, BOTH, QUANTITIES };
/* Beside NOBODY, in the place of a receiver: this rank has been left out, or has no part in it. */
enum { GONE = -2 };
extern int nodes;
extern MPI_Comm all; /* of all ranks, in this order */
/* A loop is timed so many times, and the median counts: one interruption leaves it alone. */
enum { LOOPS = 3 };

struct all_pairs_options {
    long bytes;             /* of a message whose rate is measured */
    double timeout;         /* s that a rank waits for another one; 0: for ever, and never looks */
    double limit;           /* s for all */
    long ranks;             /* on each node */
    struct numbers shifts;  /* count 0: all */
    const char *output, *rounds;
};
extern struct all_pairs_options all_pairs_options;

/* --- all_pairs_schedule.c --------------------------------------------------------------------- */

/* In which turn each rank of a round sends when none may send and receive at once: turn[rank], from
 * 0 on. Return the number of turns, at most 3. */
int turns_of(const int *to, int ranks, int *turn);
/* The shift of the k-th round (from 0 on) of all ranks-1. */
int shift_of(int k, int ranks);
void shift_receivers(int *to, int ranks, int shift);
void all_pairs_schedule(int ranks);

/* Rounds that were chosen, by name of node. */
struct chosen {
    FILE *file;
    long line;
    int rounds;         /* of the whole file */
    const char **names; /* by rank */
    int *sorted;        /* ranks by name */
};
/* Check the whole file; a fault ends the program, a node that is not in the job is told. */
void chosen_open(struct chosen *chosen, const char *path, const char **names);
/* Fill `to` of the next round; false: there is none. */
bool chosen_next(struct chosen *chosen, int *to);
/* Ranks in the order of their names. */
int *sorted_ranks(const char **names);

/* --- all_pairs_wait.c ------------------------------------------------------------------------- */

enum { TIMED_OUT = -1 };

/* How long a rank waits. With --timeout 0 it does so for ever, in MPI. */
struct patience {
    double idle; /* s of one wait */
    double end;  /* of all waits, a time of MPI_Wtime */
    double asleep;
};
/* So many time-outs for one wait, and for all from now on. */
struct patience patience(double idle, double all);

/* Return MPI_SUCCESS when all are done, TIMED_OUT, or the error of MPI. */
int wait_all(int count, MPI_Request *requests, struct patience patience);
/* As MPI_Testsome, but it waits until some are done; *done MPI_UNDEFINED: none was active. */
int wait_some(int count, MPI_Request *requests, int *done, int *which, MPI_Status *statuses,
    struct patience patience);
/* Meet the ranks that are not GONE; false: some did not come in time. */
bool meet(MPI_Comm comm, const int *to, long number, struct patience patience);

/* --- all_pairs_round.c: what each rank does --------------------------------------------------- */

struct order {
    int number;  /* from 1 on; 0: there is no more to do */
    int status;  /* with number 0: that of the program; -1: wait for the end */
    int curve;   /* 1: one pair measures its curve, and nothing else is measured */
    long repetitions[QUANTITIES]; /* of a loop */
    int to[];    /* the receiver of each rank */
};
size_t order_bytes(void);

enum outcome { GOOD, NO_ANSWER, MPI_FAILED, WRONG_DATA };
enum stage { CONNECT, LATENCY_TURN, BANDWIDTH_TURN, BOTH_AT_ONCE, CURVE };

struct failure {
    int outcome, stage, error; /* error: of MPI */
    struct fault fault;        /* of WRONG_DATA */
};
/* Messages of a curve: 8 bytes, 16, ... */
enum { SIZES = 28 };
struct curve {
    int sizes;
    double median[SIZES], late[SIZES]; /* seconds: the median, and the 99th percentile */
    double overhead; /* seconds in which this rank posts a message of 8 bytes, the median */
};
struct report {
    struct curve curve;
    double loop[QUANTITIES];     /* seconds, the median; 0: none */
    double shortest[QUANTITIES]; /* seconds */
    struct failure sent, received;
    int abandoned; /* requests that were never done, of the whole run */
    int alone;     /* a barrier timed out, and this rank left the round */
};

void round_begin(void);
void round_measure(const struct order *order, struct report *report);
extern MPI_Comm control; /* orders, reports and barriers; data has its own */
enum { ORDER, REPORT, FIRST_BARRIER };

/* Messages on their way at once, and tags of a round. */
enum { WINDOW = 4, STAGES = 8 };

/* Requests that are given up still point here: then this is left alone, and another one made. */
struct buffers {
    long ping, pong;
    char ack_in, ack_out;
    unsigned char *out, *in[WINDOW];
};
extern struct buffers *buffers;
extern MPI_Comm data;

/* One stage of a round, as this rank takes part: whom it sends to, or NOBODY, and from whom. */
struct part {
    int to, from, tag;
    enum stage stage;
    long repetitions;
    int loops;
    long phase;
    struct patience patience;
    double seconds[LOOPS];
};

/* Note that a partner did not answer, or what MPI says. */
void fail(struct failure *failure, int status, enum stage stage);

/* --- all_pairs_stream.c ----------------------------------------------------------------------- */

/* Send and receive the messages of a part; the seconds of each loop follow. */
void stream(struct part *part, struct report *report);

/* --- all_pairs_curve.c ------------------------------------------------------------------------ */

/* Bytes of the k-th message of a curve (from 0 on). */
long curve_bytes(int k);
/* Time messages of all sizes to a partner, or answer it. */
void curve(struct part *part, struct report *report);

/* --- all_pairs_leader.c: what rank 0 does in a round ------------------------------------------ */

struct leader {
    const char **names;
    struct order *order;
    struct report *reports;
    char **gone;       /* why a rank was left out; NULL: it was not */
    bool *silent;      /* it has not reported: nothing is sent to it any more */
    int *strikes;      /* how many of its pairs did not answer */
    double *values[QUANTITIES]; /* of the order, by sender; 0: none */
    char **why;        /* by sender: why there is none; NULL: there is, or it does not send */
    int measured;      /* orders so far */
    long failed;       /* pairs without a value, of all orders */
    int abandoned;
};

void leader_begin(struct leader *leader, const char **names);
/* Measure a round that `to` describes; values and why follow. */
void leader_measure(struct leader *leader, const int *to);
/* Find the repetitions with which the shortest loop is long enough; return seconds of a round. */
double leader_calibrate(struct leader *leader, const int *to);
/* Measure inside of the nodes with to[i] == i, with repetitions of its own. */
void leader_measure_inside(struct leader *leader, const int *to);
/* Let a pair measure its curve; the reports of both, and why, follow. */
void leader_curve(struct leader *leader, int sender, int receiver);
/* Tell all ranks to end with this status, and end this one unless it is 0. */
void leader_end(struct leader *leader, int status);
void follow(void);

/* --- all_pairs_again.c ------------------------------------------------------------------------ */

enum { WORST = 4, CONTROLS = 12 };
/* Suspects and controls whose curves are measured, those of a sender, or receiver, and how often. */
enum { CURVES = 8, CURVES_OF_RANK = 2, CURVE_PASSES = 5 };

/* A pair to be measured again. */
struct suspect {
    int sender, receiver;
    double badness; /* how many times worse than its round; 0: none */
    double alone;   /* how many times worse alone than the worst control; 0: it was not measured */
};
struct again {
    struct suspect *worst; /* WORST of each sender */
    long suspects;         /* all there were */
    struct suspect controls[CONTROLS];
    long unsuspected;
    uint64_t random;
    double good[QUANTITIES]; /* the worst of the controls alone, as goodness(); 0: none */
    int *inside; /* the nodes that are slow inside send to themselves; NULL: that is not measured */
};

void again_begin(struct again *again);
/* Look for suspects among the values of a round. */
void again_note(struct again *again, const struct leader *leader, const int *to);
/* Measure inside of all nodes, and note which are slow there. */
void again_inside(struct again *again, struct leader *leader);
/* Measure alone until `end` (a time of MPI_Wtime); return the number of suspects that were not. */
long again_measure(struct again *again, struct leader *leader, double end);

/* --- all_pairs_file.c ------------------------------------------------------------------------- */

void file_open(const struct leader *leader, int rounds, double estimate);
void file_round(const struct leader *leader, const int *to, int number);
void file_inside(const struct leader *leader, const int *to);
void file_again(const struct leader *leader, int sender, int receiver, bool control);
void file_curve(const struct leader *leader, int sender, int receiver, bool control);
void file_end(int not_measured, long not_again);

#endif

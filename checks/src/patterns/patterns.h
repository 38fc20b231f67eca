/* What all patterns share: the world, checked calls, options, timer, messages, output.
 *
 * A pattern is a row in main.c's table and a file with its `run`. What is "collective" below is
 * called by all ranks of MPI_COMM_WORLD. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PATTERNS_VERSION "1.0"

/* --- world.c: this process, and how it ends --------------------------------------------------- */

struct world {
    int rank, ranks;
    char node[MPI_MAX_PROCESSOR_NAME + 1];
};
extern struct world world;

void world_begin(int *argc, char ***argv);

/* End all ranks with status 1, after one line that names rank and node. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends all ranks, some time after what was printed. */
void abort_all(int status);

/* An error of an MPI call ends the program: the line names call, rank, node and the error. */
#define CHECKED(call) checked_call((call), #call, __FILE__, __LINE__)
void checked_call(int status, const char *call, const char *file, int line);

/* Memory that is there, zeroed; without it the program ends. Freed with free(). */
void *allocate(size_t count, size_t bytes_each);

/* Bytes of main memory for each rank: that of the node shared by its ranks, the least of all nodes.
 * Collective. */
double memory_per_rank(void);

/* --- options.c -------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 64 };

struct numbers {
    int count;
    long values[MOST_NUMBERS];
};

enum kind {
    COUNT,        /* long */
    BYTES,        /* long; the argument may end in k, m, g (powers of 1,024) */
    NUMBER,       /* double */
    LIST,         /* struct numbers; the argument is like 8,1k,1m */
    TEXT          /* const char * */
};

struct setting {
    const char *name; /* without the dashes */
    enum kind kind;
    void *value;        /* where it is stored; holds the default before */
    double least, most; /* what is allowed (each of a LIST) */
    const char *help;   /* with unit and default */
};

/* Those of every pattern. */
struct common {
    double time;          /* a timed loop, ms */
    long warmup;          /* repetitions before a timed loop, at least */
    long seed;
    long repeats;         /* loops of a measurement, of which the fastest counts */
    struct numbers schedule; /* counts of ranks whose schedule is printed; count 0: a real run */
};
extern struct common common;

/* Of the patterns that call measure(). */
#define REPEAT                                                                                 \
    {"repeat", COUNT, &common.repeats, 1, 100, "loops of which the fastest counts (3)"}

struct pattern {
    const char *name, *help;
    const struct setting *options;
    size_t count; /* of options */
    int least_ranks;
    /* What no range tells of the options: the fault as text, or NULL. May be NULL itself. */
    const char *(*check)(void);
    void (*run)(void);
    void (*schedule)(int ranks); /* records of the schedule of so many ranks; NULL: has none */
};

/* Store argv; return NULL or what is wrong with it (static text). */
const char *options_parse(const struct pattern *pattern, int argc, char **argv);
void options_help(const struct pattern *const *patterns, size_t count, const char *name);
/* The record of the options in force. */
void options_print(const struct pattern *pattern);

/* --- output.c: rank 0 writes JSON, a record a line; the other ranks do nothing ----------------- */

/* utils/acceptance/suites/patterns.py and all_pairs.py have the records, and read them. Where a
 * value has a unit its key ends in it: _B, _us, _s, _MBps (10^6 bytes a second). */
void record_begin(FILE *file, const char *type);
void put_count(const char *key, long value);
void put_number(const char *key, double value);
void put_text(const char *key, const char *value);
/* Lists, none of them empty. */
void put_counts(const char *key, int count, const long *values);
void put_texts(const char *key, int count, const char *const *values);
/* A value of 0 is none. */
void put_values(const char *key, int count, const double *values);
void record_end(void);
/* All is written, or the program ends with status 1. */
void output_end(void);

/* --- timer.c ---------------------------------------------------------------------------------- */

/* One repetition of what is measured. */
typedef void step(void *context);

struct timing {
    long repetitions;
    double mine;     /* seconds of this rank's loop */
    double shortest; /* seconds, the shortest and longest loop of the active ranks */
    double longest;
};

/* Time `once`, in a loop that begins with a barrier. Repetitions are calibrated: the longest loop
 * takes about `--time`, and the shortest of an active rank at least that, or 1 ms. Of `--repeat` loops the
 * one counts whose slowest rank is the fastest. Ranks that are not `active` only take part in
 * barriers. Collective. */
struct timing measure(step *once, void *context, bool active);
/* Seconds: no loop that is timed is shorter. */
double least_loop(void);

/* The record of what is planned: memory of a rank, and how long so many measurements take. A network
 * on which one repetition takes longer than `--time` requires more. */
void say_plan(size_t memory, long measurements);

/* The seconds of one loop of so many repetitions after a barrier. Collective. */
double time_loop(step *once, void *context, long repetitions, bool active);

/* For qsort: ascending. */
int order_of_doubles(const void *left, const void *right);

/* --- message.c: what is sent, and whether it arrived ------------------------------------------ */

/* A message is filled by its identity, so that one which is lost, swapped or old is seen. */
struct message {
    int sender, receiver;
    long phase;
    int stage; /* UNTIMED or TIMED */
};
enum { UNTIMED, TIMED };

struct fault {
    size_t offset; /* of the first wrong byte */
    unsigned expected, found;
};

void message_fill(unsigned char *buffer, size_t bytes, struct message message);
/* Whether the message arrived; if not, `fault` names the first wrong byte. */
bool message_arrived(
    const unsigned char *buffer, size_t bytes, struct message message, struct fault *fault);
/* The same; a wrong byte ends the program with status 1. */
void message_require(const unsigned char *buffer, size_t bytes, struct message message);

/* --- random.c: numbers that are the same on each machine -------------------------------------- */

/* splitmix64 of G. Steele, D. Lea, C. Flood, OOPSLA 2014. */
uint64_t random_next(uint64_t *state);
/* The ranks 0 ... ranks-1 in an order that seed and stream decide (Fisher and Yates). */
void random_order(int *order, int ranks, uint64_t seed, uint64_t stream);

/* --- the patterns ----------------------------------------------------------------------------- */

extern const struct pattern aapc, simple_pairwise, cumulative_pairwise, random_pairwise, b_eff,
    distance;
extern const struct pattern all_pairs, detours, loaded;

#endif

#include "patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG_ARGUMENTS = 2 };

static const struct pattern *const patterns[] = {
    &aapc,
    &simple_pairwise,
    &cumulative_pairwise,
    &random_pairwise,
    &all_pairs,
    &b_eff,
    &distance,
    &detours,
    &loaded,
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static const struct pattern *pattern_of(const char *name)
{
    for (size_t i = 0; name && i < PATTERNS; i++)
        if (!strcmp(patterns[i]->name, name))
            return patterns[i];
    return NULL;
}

static void begin(const struct pattern *pattern)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", standard[32];
    int length = 0, version = 0, subversion = 0;
    CHECKED(MPI_Get_library_version(library, &length));
    CHECKED(MPI_Get_version(&version, &subversion));
    library[strcspn(library, "\n")] = '\0';
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    record_begin(stdout, "run");
    put_text("version", PATTERNS_VERSION);
    put_text("pattern", pattern->name);
    put_count("ranks", world.ranks);
    put_text("mpi", library);
    put_text("mpi_standard", standard);
    record_end();
    options_print(pattern);
}

/* No MPI is begun: one process shows who would send to whom. */
static int print_schedules(const struct pattern *pattern)
{
    record_begin(stdout, "run");
    put_text("version", PATTERNS_VERSION);
    put_text("pattern", pattern->name);
    put_count("ranks", 0);
    record_end();
    options_print(pattern);
    for (int i = 0; i < common.schedule.count; i++)
        pattern->schedule((int)common.schedule.values[i]);
    output_end();
    return EXIT_SUCCESS;
}

/* Rank 0 says what is wrong with the arguments; all ranks end, and nothing was timed. */
static int refuse(const char *fault)
{
    if (!world.rank)
        fprintf(stderr, "patterns: %s\n", fault);
    CHECKED(MPI_Finalize());
    return WRONG_ARGUMENTS;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) {
            options_help(patterns, PATTERNS, i > 1 ? argv[1] : NULL);
            return EXIT_SUCCESS;
        }
    char text[256];
    const struct pattern *pattern = pattern_of(argc > 1 ? argv[1] : NULL);
    const char *fault = pattern ? options_parse(pattern, argc - 2, argv + 2) : text;
    if (!fault && common.schedule.count)
        return print_schedules(pattern);
    if (!pattern)
        snprintf(text, sizeof text, "'%.100s' is no pattern; see patterns --help",
            argc > 1 ? argv[1] : "");
    world_begin(&argc, &argv);
    if (!fault && world.ranks < pattern->least_ranks) {
        snprintf(text, sizeof text, "%s requires at least %d ranks, there is %d", pattern->name,
            pattern->least_ranks, world.ranks);
        fault = text;
    }
    if (fault)
        return refuse(fault);
    begin(pattern);
    pattern->run();
    output_end();
    CHECKED(MPI_Finalize());
    return EXIT_SUCCESS;
}

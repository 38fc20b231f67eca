#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES; some compilers of an MPI define it */
#endif
#include "patterns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct world world = {.ranks = 1};

void world_begin(int *argc, char ***argv)
{
    int length = 0;
    CHECKED(MPI_Init(argc, argv));
    /* The default handler would end the program without naming what we were about. */
    CHECKED(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECKED(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank));
    CHECKED(MPI_Comm_size(MPI_COMM_WORLD, &world.ranks));
    CHECKED(MPI_Get_processor_name(world.node, &length));
}

void die(const char *format, ...)
{
    char line[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    fflush(stdout);
    /* One write, so that the lines of several ranks do not mix. */
    fprintf(stderr, "patterns: rank %d on %s: %s\n", world.rank, world.node, line);
    fflush(stderr);
    int running = 0;
    if (MPI_Initialized(&running) == MPI_SUCCESS && running)
        abort_all(EXIT_FAILURE);
    exit(EXIT_FAILURE);
}

void abort_all(int status)
{
    /* Time for the launcher to take what was printed: MPICH's now and then loses it otherwise. */
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    MPI_Abort(MPI_COMM_WORLD, status);
}

void checked_call(int status, const char *call, const char *file, int line)
{
    char words[MPI_MAX_ERROR_STRING + 1] = "no words for it";
    int length = 0;
    if (status == MPI_SUCCESS)
        return;
    if (MPI_Error_string(status, words, &length) != MPI_SUCCESS)
        snprintf(words, sizeof words, "error %d", status);
    die("%.*s: %s (%s, line %d)", (int)strcspn(call, "("), call, words, file, line);
}

void *allocate(size_t count, size_t bytes_each)
{
    void *memory = calloc(count ? count : 1, bytes_each);
    if (!memory)
        die("no memory for %zu times %zu bytes: ask for smaller messages", count, bytes_each);
    return memory;
}

double memory_per_rank(void)
{
    MPI_Comm node;
    int ranks = 1;
    CHECKED(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CHECKED(MPI_Comm_size(node, &ranks));
    CHECKED(MPI_Comm_free(&node));
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / ranks;
    CHECKED(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    return bytes;
}

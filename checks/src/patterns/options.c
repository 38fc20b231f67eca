#include "patterns.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct common common = {.time = 5, .warmup = 3, .seed = 1, .repeats = 3};

static const struct setting shared[] = {
    {"time", NUMBER, &common.time, 0.001, 1e5,
        "how long a timed loop takes about, ms (5); a clock that is not simulated requires 1"},
    {"warmup", COUNT, &common.warmup, 0, 1e6, "repetitions before a measurement, at least (3)"},
    {"seed", COUNT, &common.seed, 0, 2147483647, "of random orders (1)"},
};
static const struct setting schedule = {
    "schedule", LIST, &common.schedule, 2, 65536,
    "print who sends to whom with so many ranks (a list like 2,3,16), and end: nothing is sent"};

enum { SHARED = sizeof shared / sizeof *shared };

static char fault[512];

static const struct setting *option_of(const struct pattern *pattern, const char *name)
{
    for (size_t i = 0; i < pattern->count; i++)
        if (!strcmp(pattern->options[i].name, name))
            return &pattern->options[i];
    for (size_t i = 0; i < SHARED; i++)
        if (!strcmp(shared[i].name, name))
            return &shared[i];
    return pattern->schedule && !strcmp(schedule.name, name) ? &schedule : NULL;
}

/* Read a number at *text and move behind it; false: none is there, or it is out of range. */
static bool number(const struct setting *option, const char **text, double *value)
{
    char *end;
    errno = 0;
    if (option->kind == NUMBER) {
        *value = strtod(*text, &end);
    } else {
        *value = (double)strtoll(*text, &end, 10);
        const char *suffixes = "kmg", *suffix = *end ? strchr(suffixes, *end) : NULL;
        if (end > *text && suffix && option->kind != COUNT) {
            *value = ldexp(*value, 10 * (int)(suffix - suffixes + 1));
            end++;
        }
    }
    bool good = end > *text && !errno && *value >= option->least && *value <= option->most;
    *text = end;
    return good;
}

static bool list(const struct setting *option, const char *text)
{
    struct numbers *numbers = option->value;
    numbers->count = 0;
    while (numbers->count < MOST_NUMBERS) {
        double value;
        if (!number(option, &text, &value))
            return false;
        if (numbers->count && value <= (double)numbers->values[numbers->count - 1])
            return false;
        numbers->values[numbers->count++] = (long)value;
        if (!*text)
            return true;
        if (*text++ != ',')
            return false;
    }
    return false;
}

static bool store(const struct setting *option, const char *text)
{
    double value;
    if (option->kind == TEXT) {
        *(const char **)option->value = text;
        return *text;
    }
    if (option->kind == LIST)
        return list(option, text);
    if (!number(option, &text, &value) || *text)
        return false;
    if (option->kind == NUMBER)
        *(double *)option->value = value;
    else
        *(long *)option->value = (long)value;
    return true;
}

static const char *wrong(const struct setting *option, const char *text)
{
    const char *kinds[] = {"a whole number", "a number of bytes (k, m, g may follow)", "a number",
        "a list of growing whole numbers like 8,1k,1m", "a text"};
    if (option->kind == TEXT)
        snprintf(fault, sizeof fault, "--%s '%s': requires a text", option->name, text);
    else
        snprintf(fault, sizeof fault, "--%s '%.100s': requires %s from %.15g to %.15g",
            option->name, text, kinds[option->kind], option->least, option->most);
    return fault;
}

const char *options_parse(const struct pattern *pattern, int argc, char **argv)
{
    for (int i = 0; i < argc; i += 2) {
        const struct setting *option =
            strncmp(argv[i], "--", 2) ? NULL : option_of(pattern, argv[i] + 2);
        if (!option) {
            snprintf(fault, sizeof fault, "%s has no option '%.100s'; see patterns --help",
                pattern->name, argv[i]);
            return fault;
        }
        if (i + 1 == argc) {
            snprintf(fault, sizeof fault, "--%s requires a value", option->name);
            return fault;
        }
        if (!store(option, argv[i + 1]))
            return wrong(option, argv[i + 1]);
    }
    return pattern->check ? pattern->check() : NULL;
}

static void help_lines(const struct setting *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("    --%-12s %s\n", options[i].name, options[i].help);
}

void options_help(const struct pattern *const *patterns, size_t count, const char *name)
{
    printf("patterns %s: communication patterns of MPI, measured\n\n"
           "usage: patterns PATTERN [--option value ...]\n\nevery pattern:\n",
        PATTERNS_VERSION);
    help_lines(shared, SHARED);
    help_lines(&schedule, 1);
    for (size_t i = 0; i < count; i++) {
        if (name && strcmp(name, patterns[i]->name))
            continue;
        printf("\n%s: %s\n", patterns[i]->name, patterns[i]->help);
        help_lines(patterns[i]->options, patterns[i]->count);
    }
}

static void print(const struct setting *option)
{
    const struct numbers *numbers = option->value;
    switch (option->kind) {
    case LIST:
        if (numbers->count)
            put_counts(option->name, numbers->count, numbers->values);
        break;
    case NUMBER:
        put_number(option->name, *(double *)option->value);
        break;
    case TEXT:
        if (*(const char **)option->value)
            put_text(option->name, *(const char **)option->value);
        break;
    default:
        put_count(option->name, *(long *)option->value);
    }
}

void options_print(const struct pattern *pattern)
{
    record_begin(stdout, "options");
    for (size_t i = 0; i < SHARED; i++)
        print(&shared[i]);
    for (size_t i = 0; i < pattern->count; i++)
        print(&pattern->options[i]);
    record_end();
}

#include "patterns.h"

#include <math.h>

static FILE *to; /* of the record that was begun; NULL: another rank's */

void record_begin(FILE *file, const char *type)
{
    to = world.rank ? NULL : file;
    if (to)
        fprintf(to, "{\"type\":\"%s\"", type);
}

void put_count(const char *key, long value)
{
    if (to)
        fprintf(to, ",\"%s\":%ld", key, value);
}

void put_number(const char *key, double value)
{
    if (to)
        fprintf(to, ",\"%s\":%.9g", key, value);
}

static void quote(const char *text)
{
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < ' ')
            fprintf(to, "\\u%04x", *c);
        else
            fprintf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fputc('"', to);
}

void put_text(const char *key, const char *value)
{
    if (!to)
        return;
    fprintf(to, ",\"%s\":", key);
    quote(value);
}

static void separate(const char *key, int i)
{
    if (i)
        fputc(',', to);
    else
        fprintf(to, ",\"%s\":[", key);
}

void put_texts(const char *key, int count, const char *const *values)
{
    for (int i = 0; to && i < count; i++) {
        separate(key, i);
        quote(values[i]);
    }
    if (to)
        fputc(']', to);
}

void put_counts(const char *key, int count, const long *values)
{
    for (int i = 0; to && i < count; i++) {
        separate(key, i);
        fprintf(to, "%ld", values[i]);
    }
    if (to)
        fputc(']', to);
}

void put_values(const char *key, int count, const double *values)
{
    for (int i = 0; to && i < count; i++) {
        separate(key, i);
        /* Five digits that count: 3 million of such values take 20 MB. */
        int digits = values[i] > 0 ? 4 - (int)floor(log10(values[i])) : 0;
        if (values[i] > 0)
            fprintf(to, "%.*f", digits > 0 ? digits : 0, values[i]);
        else
            fprintf(to, "null");
    }
    if (to)
        fputc(']', to);
}

void record_end(void)
{
    if (to)
        fprintf(to, "}\n");
    to = NULL;
}

void output_end(void)
{
    record_begin(stdout, "end");
    record_end();
    if (!world.rank && (fflush(stdout) || ferror(stdout)))
        die("the output could not be written: is the file system full?");
}

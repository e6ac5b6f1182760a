/* Counts the copies of at least 2 KiB that a thread makes. To be preloaded: `getenv` returns the
 * number so far for the name LARGE_COPIES. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

static __thread unsigned long copies;

void *memmove(void *to, const void *from, size_t len)
{
    volatile char *out = to;
    const volatile char *in = from;
    copies += len >= 2048;
    if (out < in)
        for (size_t i = 0; i < len; i++)
            out[i] = in[i];
    else
        for (size_t i = len; i > 0; i--)
            out[i - 1] = in[i - 1];
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
    return memmove(to, from, len);
}

char *getenv(const char *name)
{
    static __thread char number[24];
    size_t len = strlen(name);
    if (strcmp(name, "LARGE_COPIES") == 0) {
        snprintf(number, sizeof number, "%lu", copies);
        return number;
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
            return *entry + len + 1;
    return NULL;
}

/* Counts the copies of at least 2 KiB that a thread makes at distances at which they are slow on some
 * processors: 1 to 31 bytes, modulo the page size. Long blocks of memory start at a page, so that
 * headers of records cause such distances. To be preloaded: `getenv` returns the number so far for
 * the name LARGE_COPIES. */

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 2048, PAGE = 4096, SLOW = 32 };

extern char **environ;
extern void *__libc_malloc(size_t len);
extern void *__libc_memalign(size_t align, size_t len);
extern void *__libc_realloc(void *block, size_t len);

static __thread unsigned long copies;

static void *move(void *to, const void *from, size_t len)
{
    volatile char *out = to;
    const volatile char *in = from;
    if (out < in)
        for (size_t i = 0; i < len; i++)
            out[i] = in[i];
    else
        for (size_t i = len; i > 0; i--)
            out[i - 1] = in[i - 1];
    return to;
}

void *memmove(void *to, const void *from, size_t len)
{
    size_t distance = ((size_t)to - (size_t)from) % PAGE;
    copies += len >= LONG && distance >= 1 && distance < SLOW;
    return move(to, from, len);
}

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
    return memmove(to, from, len);
}

void *malloc(size_t len)
{
    return len < LONG ? __libc_malloc(len) : __libc_memalign(PAGE, len);
}

void *calloc(size_t count, size_t size)
{
    size_t len;
    if (__builtin_mul_overflow(count, size, &len))
        return NULL;
    volatile char *block = malloc(len);
    for (size_t i = 0; block != NULL && i < len; i++)
        block[i] = 0;
    return (void *)block;
}

void *realloc(void *block, size_t len)
{
    if (len < LONG)
        return __libc_realloc(block, len);
    void *longer = malloc(len);
    size_t old_len = malloc_usable_size(block);
    if (longer != NULL && block != NULL) {
        move(longer, block, old_len < len ? old_len : len);
        free(block);
    }
    return longer;
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

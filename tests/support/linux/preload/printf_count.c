/*
 * For LD_PRELOAD: counts the calls of the printf family by their formats. At its end the program
 * writes `COUNT FORMAT` lines into the file PRINTF_COUNT_FILE.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 4096 };

/* Formats are literals: the address tells them apart. */
static _Atomic(const char *) formats[SLOTS];
static atomic_ulong counts[SLOTS];
static atomic_bool is_over;

static void count(const char *format)
{
    uintptr_t hash = (uintptr_t)format * UINT64_C(0x9e3779b97f4a7c15) >> 52;
    for (unsigned i = 0; i < SLOTS && !is_over; i++) {
        unsigned slot = (unsigned)(hash + i) % SLOTS;
        const char *expected = NULL;
        if (atomic_load(&formats[slot]) == format ||
            atomic_compare_exchange_strong(&formats[slot], &expected, format) ||
            expected == format) {
            atomic_fetch_add(&counts[slot], 1);
            return;
        }
    }
}

typedef int vsnprintf_fn(char *, size_t, const char *, va_list);
typedef int vfprintf_fn(FILE *, const char *, va_list);

int vsnprintf(char *text, size_t size, const char *format, va_list args)
{
    vsnprintf_fn *next;
    *(void **)&next = dlsym(RTLD_NEXT, "vsnprintf");
    count(format);
    return next(text, size, format, args);
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, size, format, args);
    va_end(args);
    return length;
}

int vfprintf(FILE *file, const char *format, va_list args)
{
    vfprintf_fn *next;
    *(void **)&next = dlsym(RTLD_NEXT, "vfprintf");
    count(format);
    return next(file, format, args);
}

int fprintf(FILE *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vfprintf(file, format, args);
    va_end(args);
    return length;
}

/* The names by which checked builds call them (_FORTIFY_SOURCE). */
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
int __snprintf_chk(char *, size_t, int, size_t, const char *, ...);

int __vsnprintf_chk(
    char *text, size_t size, int flag, size_t room, const char *format, va_list args)
{
    (void)flag;
    (void)room;
    return vsnprintf(text, size, format, args);
}

int __snprintf_chk(char *text, size_t size, int flag, size_t room, const char *format, ...)
{
    (void)flag;
    (void)room;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, size, format, args);
    va_end(args);
    return length;
}

__attribute__((destructor)) static void report(void)
{
    is_over = true;
    const char *path = getenv("PRINTF_COUNT_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    for (unsigned i = 0; file && i < SLOTS; i++) {
        if (formats[i]) {
            fprintf(file, "%lu %s\n", atomic_load(&counts[i]), formats[i]);
        }
    }
    if (file) {
        fclose(file);
    }
}

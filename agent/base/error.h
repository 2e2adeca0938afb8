#ifndef ETWSHIP_BASE_ERROR_H
#define ETWSHIP_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Why something failed, on the caller's stack: never allocates, nothing to free. `code` is for
 * decisions, `text` for people: one line, what and where and what to do, no final newline. Names in it
 * may come from anywhere: what of them would steer a terminal is shown (base/visible.h).
 */
enum error_code {
    ERR_NONE,
    ERR_IO,          /* the operating system refused; os_code says why */
    ERR_FORMAT,      /* the input is not what it claims to be */
    ERR_LIMIT,       /* a documented bound was reached */
    ERR_MEMORY,      /* allocation failed */
    ERR_CONFIG,      /* the user's settings or command line */
    ERR_UNSUPPORTED, /* valid, but not in this build or on this system */
    ERR_STOPPED,     /* someone asked to stop */
    ERR_DAMAGED,     /* what we stored does not read as it was written */
    ERR_MISSING,     /* what we stored is not there any more, or never was */
    ERR_FULL,        /* no room on the disk, or no quota; again when there is */
    ERR_BUSY,        /* another process holds it; again later */
    ERR_READ_ONLY,   /* the disk, or our rights, let nothing be written */
};

struct error {
    enum error_code code;
    int64_t os_code;
    char text[512];
};

#if defined(__MINGW32__) && !defined(__clang__)
#define ETWSHIP_PRINTF(format_at, args_at) __attribute__((format(gnu_printf, format_at, args_at)))
#elif defined(__GNUC__)
#define ETWSHIP_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define ETWSHIP_PRINTF(format_at, args_at)
#endif

/* Fill ${err} (NULL is fine) and return false, so that a failure reads `return error_set(…);`. */
bool error_set(struct error *err, enum error_code code, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* The same for a failed call of the operating system, whose reason is appended to the text. */
bool error_set_os(struct error *err, int64_t os_code, const char *reason, const char *format, ...)
    ETWSHIP_PRINTF(4, 5);

#endif

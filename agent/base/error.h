#ifndef ETWSHIP_BASE_ERROR_H
#define ETWSHIP_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The reason of a failure, on the caller's stack: no allocation, nothing to free. `code` is for
 * decisions. `text` is for people: one line that says what is wrong, where, and what to do, without
 * final newline. Names in it may come from any source; characters that control terminals are made
 * visible (base/visible.h).
 */
enum error_code {
    ERR_NONE,
    ERR_IO,          /* the operating system refused; os_code has the reason */
    ERR_FORMAT,      /* the input is not what it claims to be */
    ERR_LIMIT,       /* a documented bound was reached */
    ERR_MEMORY,      /* allocation failed */
    ERR_CONFIG,      /* the user's settings or command line */
    ERR_UNSUPPORTED, /* valid, but not in this build or on this system */
    ERR_STOPPED,     /* a stop was requested */
    ERR_DAMAGED,     /* stored data differs from what was written */
    ERR_MISSING,     /* stored data was removed or never existed */
    ERR_FULL,        /* no space on the disk, or quota exceeded; retry later */
    ERR_BUSY,        /* another process uses it; retry later */
    ERR_READ_ONLY,   /* the disk or our rights allow no writing */
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

/* Fill ${err} (may be NULL) and return false, so that a failure reads `return error_set(…);`. */
bool error_set(struct error *err, enum error_code code, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

/* Like error_set for a failed call of the operating system; ${reason} is appended to the text. */
bool error_set_os(struct error *err, int64_t os_code, const char *reason, const char *format, ...)
    ETWSHIP_PRINTF(4, 5);

#endif

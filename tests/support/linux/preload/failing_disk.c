/*
 * For LD_PRELOAD: a folder whose disk fails. While the file FAILING_DISK_FLAG is there, whatever
 * would change something below FAILING_DISK_FOLDER fails with the error whose number the flag
 * holds; reading goes on. What is mapped is left alone. The names of functions that failed go to
 * the file FAILING_DISK_NOTES, a line each.
 *
 * Or it kills: FAILING_DISK_KILL is a number, and that one of the calls there that make something
 * last (sync, rename, remove) ends the process before it is done.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are meant */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* `next` is what stands after our own function. */
#define FIND_NEXT(function)                          \
    static __typeof__(&function) next;               \
    if (!next) {                                     \
        void *found = dlsym(RTLD_NEXT, #function);   \
        memcpy((void *)&next, &found, sizeof(next)); \
    }

static void note(const char *function)
{
    const char *notes = getenv("FAILING_DISK_NOTES");
    FILE *file = notes ? fopen(notes, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", function);
        fclose(file);
    }
}

static void kill_in_time(const char *function)
{
    static atomic_long count;
    static const char *const lasting[] = {"fsync", "fdatasync", "rename", "unlink"};
    const char *number = getenv("FAILING_DISK_KILL");
    for (size_t i = 0; number && i < sizeof(lasting) / sizeof(lasting[0]); i++) {
        if (strcmp(function, lasting[i]) == 0 &&
            atomic_fetch_add(&count, 1) + 1 == strtol(number, NULL, 10)) {
            raise(SIGKILL);
        }
    }
}

/* Sets errno if the disk fails now. */
static bool fails(const char *function, const char *path)
{
    const char *folder = getenv("FAILING_DISK_FOLDER");
    const char *flag = getenv("FAILING_DISK_FLAG");
    char target[16];
    if (!folder || strncmp(path, folder, strlen(folder)) != 0) {
        return false;
    }
    kill_in_time(function);
    if (!flag) {
        return false;
    }
    ssize_t size = readlink(flag, target, sizeof(target) - 1); /* a link that leads to a number */
    if (size <= 0) {
        return false;
    }
    target[size] = 0;
    note(function);
    errno = (int)strtol(target, NULL, 10);
    return true;
}

static bool file_fails(const char *function, int fd)
{
    char entry[64];
    char name[PATH_BYTES];
    snprintf(entry, sizeof(entry), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(entry, name, sizeof(name) - 1);
    if (size <= 0) {
        return false;
    }
    name[size] = 0;
    return fails(function, name);
}

/* The system's headers have names that are theirs alone. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
#define OF_FILE(result, function, parameters, arguments)        \
    result function parameters;                                 \
    result function parameters                                  \
    {                                                           \
        FIND_NEXT(function)                                     \
        return file_fails(#function, fd) ? -1 : next arguments; \
    }

#define OF_PATH(function, parameters, arguments)             \
    int function parameters;                                 \
    int function parameters                                  \
    {                                                        \
        FIND_NEXT(function)                                  \
        return fails(#function, path) ? -1 : next arguments; \
    }

OF_FILE(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
OF_FILE(ssize_t, writev, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
OF_FILE(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
OF_FILE(
    ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
OF_FILE(int, fsync, (int fd), (fd))
OF_FILE(int, fdatasync, (int fd), (fd))
OF_FILE(int, ftruncate, (int fd, off_t size), (fd, size))
OF_FILE(int, ftruncate64, (int fd, off64_t size), (fd, size))
OF_FILE(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
OF_PATH(unlink, (const char *path), (path))
OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
OF_PATH(rename, (const char *path, const char *to), (path, to))

#define OPEN(function)                                                   \
    int function(const char *path, int flags, ...);                      \
    int function(const char *path, int flags, ...)                       \
    {                                                                    \
        va_list more;                                                    \
        va_start(more, flags);                                           \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;        \
        va_end(more);                                                    \
        FIND_NEXT(function)                                              \
        return (flags & (O_ACCMODE | O_CREAT)) && fails(#function, path) \
                   ? -1                                                  \
                   : next(path, flags, mode);                            \
    }

OPEN(open)
OPEN(open64)
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

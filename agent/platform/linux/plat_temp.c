#define _GNU_SOURCE

#include "platform/plat_temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "platform/linux/plat_file_own.h"

static bool fail(struct error *err, const char *name, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", name, what);
}

/* For file systems without O_TMPFILE (NFS, older FUSE): use a name briefly. */
static int open_named(const char *folder)
{
    char path[4096];
    if (snprintf(path, sizeof(path), "%s/etwship-XXXXXX", folder) >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_APPEND | O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    }
    return fd;
}

static int open_in(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    return fd >= 0 || errno == ENOENT || errno == EACCES || errno == EROFS ? fd
                                                                           : open_named(folder);
}

/* /var/tmp precedes /tmp, which is in memory on many systems. */
struct plat_file *plat_temp_create(struct error *err)
{
    const char *wanted = getenv("TMPDIR");
    const char *folder = wanted && *wanted ? wanted : "/var/tmp";
    int fd = open_in(folder);
    if (fd < 0 && folder != wanted) {
        folder = "/tmp";
        fd = open_in(folder);
    }
    if (fd < 0) {
        fail(err, folder, "cannot make a temporary file. set TMPDIR to a folder with room");
        return NULL;
    }
    return plat_file_wrap(fd, "temporary file", err);
}

static uint64_t bytes_of(uint64_t blocks, uint64_t block)
{
    return block && blocks > UINT64_MAX / block ? UINT64_MAX : blocks * block;
}

bool plat_temp_room(struct plat_file *file, struct plat_temp_room *ret_room, struct error *err)
{
    struct statvfs fs;
    int result;
    do {
        result = fstatvfs(file->fd, &fs);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        return fail(err, file->name, "cannot ask for free space");
    }
    uint64_t block = fs.f_frsize ? fs.f_frsize : fs.f_bsize;
    ret_room->free_bytes = bytes_of(fs.f_bavail, block); /* without the space reserved for root */
    ret_room->disk_bytes = bytes_of(fs.f_blocks, block);
    return true;
}

struct plat_file *plat_stdin_open(struct error *err)
{
    if (isatty(STDIN_FILENO)) {
        error_set(err, ERR_CONFIG,
            "standard input is a terminal. name a file, or pipe a trace into the program");
        return NULL;
    }
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) {
        fail(err, "standard input", "cannot be read");
        return NULL;
    }
    return plat_file_wrap(fd, "standard input", err);
}

bool plat_stdin_is_file(struct plat_file *file, uint64_t *ret_offset)
{
    struct stat st;
    off_t at = fstat(file->fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(file->fd, 0, SEEK_CUR) : -1;
    *ret_offset = at < 0 ? 0 : (uint64_t)at;
    return at >= 0;
}

bool plat_stdin_read(
    struct plat_file *file, void *data, size_t size, size_t *ret_read, struct error *err)
{
    ssize_t got;
    do {
        got = read(file->fd, data, size);
    } while (got < 0 && errno == EINTR);
    *ret_read = got < 0 ? 0 : (size_t)got;
    return got >= 0 || fail(err, file->name, "cannot be read");
}

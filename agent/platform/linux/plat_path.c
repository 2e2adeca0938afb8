#define _GNU_SOURCE

#include "platform/plat_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/linux/plat_file_own.h"

struct plat_lock {
    int fd;
};

static bool fail(struct error *err, const char *path, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", path, what);
}

struct plat_stamp plat_path_stamp(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return (struct plat_stamp){.id = 0};
    }
    return (struct plat_stamp){
        .id = (uint64_t)st.st_ino,
        .size = (uint64_t)st.st_size,
        .modified = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec,
    };
}

bool plat_path_find(const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err)
{
    struct stat st;
    bool found = stat(path, &st) == 0;
    if (!found && errno != ENOENT && errno != ENOTDIR) {
        return fail(err, path, "cannot read its attributes");
    }
    *ret_there = found && S_ISREG(st.st_mode);
    *ret_bytes = *ret_there ? (uint64_t)st.st_size : 0;
    return true;
}

static bool rename_failed(const char *from, const char *to, struct error *err)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: cannot be renamed to %s", from, to);
}

bool plat_path_rename(const char *from, const char *to, struct error *err)
{
    return rename(from, to) == 0 || rename_failed(from, to, err);
}

static bool is_taken(const char *from, const char *to, struct error *err)
{
    return error_set(err, ERR_BUSY, "%s: cannot be renamed to %s, which already exists", from, to);
}

/* For file systems without RENAME_NOREPLACE (NFS, older FUSE): reserve the name with an empty file
 * and replace that. */
static bool rename_over_own(const char *from, const char *to, struct error *err)
{
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST ? is_taken(from, to, err) : rename_failed(from, to, err);
    }
    close(fd);
    if (rename(from, to) == 0) {
        return true;
    }
    int code = errno;
    unlink(to);
    errno = code;
    return rename_failed(from, to, err);
}

bool plat_path_rename_new(const char *from, const char *to, struct error *err)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return true;
    }
    if (errno == EINVAL || errno == ENOSYS) {
        return rename_over_own(from, to, err);
    }
    return errno == EEXIST ? is_taken(from, to, err) : rename_failed(from, to, err);
}

bool plat_path_remove(const char *path, struct error *err)
{
    return unlink(path) == 0 || errno == ENOENT || fail(err, path, "cannot be removed");
}

bool plat_path_absolute(const char *path, char *ret_path, size_t capacity, struct error *err)
{
    char folder[4096] = "";
    if (path[0] != '/' && !getcwd(folder, sizeof(folder))) {
        return fail(err, path, "not a valid path");
    }
    int size = snprintf(ret_path, capacity, "%s%s%s", folder, path[0] != '/' ? "/" : "", path);
    return (size > 0 && (size_t)size < capacity) ||
           error_set(err, ERR_LIMIT, "%.200s: the path is too long", path);
}

bool plat_path_sync_folder(const char *folder, struct error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return fail(err, folder, "cannot open this folder");
    }
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    /* some file systems do not support it; nothing else can be done */
    bool good = result == 0 || errno == EINVAL || fail(err, folder, "cannot write to the disk");
    close(fd);
    return good;
}

static uint64_t read_holder(int fd)
{
    char text[32];
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return strtoull(text, NULL, 10);
}

static bool write_holder(int fd)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)size, 0) == size;
}

struct plat_lock *plat_lock_take(const char *path, uint64_t *ret_holder, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        fail(err, path, "cannot open");
        return NULL;
    }
    if (!plat_file_check_own(fd, path, err)) {
        close(fd);
        return NULL;
    }
    /* flock instead of fcntl: the lock belongs to the open file description, so that a second lock
     * in this process fails */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            *ret_holder = read_holder(fd);
            error_set(err, ERR_STOPPED, "%s: held by another process", path);
        } else {
            fail(err, path, "cannot lock");
        }
        close(fd);
        return NULL;
    }
    struct plat_lock *lock = malloc(sizeof(*lock));
    if (!lock) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
    } else if (!write_holder(fd)) {
        fail(err, path, "cannot write");
    } else {
        lock->fd = fd;
        return lock;
    }
    free(lock);
    close(fd);
    return NULL;
}

void plat_lock_drop(struct plat_lock *lock)
{
    if (lock) {
        close(lock->fd);
        free(lock);
    }
}

#define _GNU_SOURCE

#include "base/filetime.h"
#include "platform/linux/plat_file_own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Linux transfers at most 2 GiB minus a page per call (read(2)). */
enum { MAX_CALL_BYTES = 1 << 30 };

static bool fail(struct error *err, const char *name, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", name, what);
}

static void set_name(struct plat_file *file, const char *path)
{
    size_t size = strlen(path);
    if (size < sizeof(file->name)) {
        memcpy(file->name, path, size + 1);
        return;
    }
    size_t kept = sizeof(file->name) - sizeof("...");
    memcpy(file->name, "...", 3);
    memcpy(file->name + 3, path + size - kept, kept + 1);
}

/* Reading at an offset needs an ordinary file; report what else it is. */
static bool check_ordinary(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return fail(err, path, "cannot read its attributes");
    }
    if (S_ISDIR(st.st_mode)) {
        return error_set(err, ERR_CONFIG, "%s: is a folder, not a file", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, ERR_CONFIG,
            "%s: is a device or pipe; only ordinary files can be read. save it to a file first",
            path);
    }
    return true;
}

struct plat_file *plat_file_wrap(int fd, const char *name, struct error *err)
{
    struct plat_file *file = malloc(sizeof(*file));
    if (!file) {
        close(fd);
        error_set(err, ERR_MEMORY, "%s: out of memory", name);
        return NULL;
    }
    file->fd = fd;
    set_name(file, name);
    return file;
}

/* True if ${path} names a descriptor that this process has open. Only the system can create such
 * links. */
static bool is_own_stream(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        size_t size = strlen(folders[i]);
        if (strncmp(path, folders[i], size) == 0 && path[size] &&
            !path[size + strspn(path + size, "0123456789")]) {
            return true;
        }
    }
    return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0;
}

bool plat_file_check_own(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return fail(err, path, "cannot read its attributes");
    }
    return !S_ISREG(st.st_mode) || st.st_nlink <= 1 ||
           error_set(err, ERR_CONFIG,
               "%s: refused because the file has another name (a hard link), which "
               "may belong to another user. remove one of the names",
               path);
}

/* Report why there is no file. */
static void fail_open(const char *path, bool writes, struct error *err)
{
    if (errno == ELOOP) {
        error_set(err, ERR_CONFIG,
            "%s: is a link, which is not followed%s because another user may have put it "
            "there. name the file itself, or remove the link",
            path, writes ? " for writing" : "");
    } else if (writes && errno == EEXIST) {
        error_set(err, ERR_BUSY, "%s: already exists", path);
    } else {
        fail(err, path, writes ? "cannot open for writing" : "cannot open");
    }
}

/* A file opened for writing is checked before it is changed. */
static bool check_writable(int fd, const char *path, enum plat_file_mode mode, struct error *err)
{
    bool good = is_own_stream(path) || plat_file_check_own(fd, path, err);
    /* like O_TRUNC: devices and pipes have nothing to truncate */
    return good && (mode != PLAT_FILE_CREATE || ftruncate(fd, 0) == 0 || errno == EINVAL ||
                       fail(err, path, "cannot truncate it"));
}

static bool check_readable(int fd, const char *path, enum plat_file_mode mode, struct error *err)
{
    return check_ordinary(fd, path, err) &&
           (mode == PLAT_FILE_READ || plat_file_check_own(fd, path, err));
}

struct plat_file *plat_file_open(const char *path, enum plat_file_mode mode, struct error *err)
{
    /* without O_NONBLOCK, opening a pipe waits for its other end */
    static const int flags[] = {
        [PLAT_FILE_READ] = O_RDONLY | O_NONBLOCK,
        [PLAT_FILE_APPEND] = O_WRONLY | O_CREAT | O_APPEND,
        [PLAT_FILE_CREATE] = O_WRONLY | O_CREAT,
        [PLAT_FILE_CREATE_NEW] = O_WRONLY | O_CREAT | O_EXCL,
        [PLAT_FILE_CREATE_PRIVATE] = O_WRONLY | O_CREAT | O_EXCL,
        [PLAT_FILE_READ_ITSELF] = O_RDONLY | O_NONBLOCK,
    };
    bool writes = mode != PLAT_FILE_READ && mode != PLAT_FILE_READ_ITSELF;
    bool follows = mode == PLAT_FILE_READ || (writes && is_own_stream(path));
    mode_t rights = mode == PLAT_FILE_CREATE_PRIVATE ? 0600 : 0666;
    int fd;
    do {
        fd = open(path, flags[mode] | (follows ? 0 : O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY, rights);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        fail_open(path, writes, err);
        return NULL;
    }
    if (writes ? !check_writable(fd, path, mode, err) : !check_readable(fd, path, mode, err)) {
        close(fd);
        return NULL;
    }
    return plat_file_wrap(fd, path, err);
}

static struct plat_file stdout_file = {.fd = STDOUT_FILENO, .name = "standard output"};

struct plat_file *plat_file_stdout(void)
{
    /* a write to a closed pipe returns EPIPE instead of ending the process */
    signal(SIGPIPE, SIG_IGN);
    return &stdout_file;
}

void plat_file_close(struct plat_file *file)
{
    if (!file || file == &stdout_file) {
        return;
    }
    close(file->fd);
    free(file);
}

bool plat_file_size(struct plat_file *file, uint64_t *ret_bytes, struct error *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0) {
        return fail(err, file->name, "cannot get the size");
    }
    *ret_bytes = (uint64_t)st.st_size;
    return true;
}

bool plat_file_is_at(struct plat_file *file, const char *path)
{
    struct stat open_one;
    struct stat named;
    return fstat(file->fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static bool id_of(int folder, const char *path, int flags, struct plat_file_id *ret_id)
{
    struct statx st;
    if (statx(folder, path, flags, STATX_TYPE | STATX_INO | STATX_BTIME, &st) != 0 ||
        !S_ISREG(st.stx_mode)) {
        return false;
    }
    ret_id->file = st.stx_ino;
    ret_id->born = st.stx_mask & STATX_BTIME ? (uint64_t)st.stx_btime.tv_sec * FILETIME_PER_S +
                                                   st.stx_btime.tv_nsec / 100 + FILETIME_UNIX_EPOCH
                                             : 0;
    return true;
}

bool plat_file_id(struct plat_file *file, struct plat_file_id *ret_id)
{
    return id_of(file->fd, "", AT_EMPTY_PATH, ret_id);
}

bool plat_file_id_at(const char *path, struct plat_file_id *ret_id)
{
    return id_of(AT_FDCWD, path, 0, ret_id);
}

bool plat_file_lock(struct plat_file *file, struct error *err)
{
    /* other failures mean that the file system has no locks */
    return flock(file->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK ||
           error_set(err, ERR_STOPPED, "%s: another program is writing to it", file->name);
}

bool plat_file_read_at(struct plat_file *file, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err)
{
    size_t done = 0;
    /* no file exceeds INT64_MAX, and pread refuses larger offsets */
    uint64_t room = offset < INT64_MAX ? INT64_MAX - offset : 0;
    size = size < room ? size : (size_t)room;
    while (done < size) {
        size_t want = size - done < MAX_CALL_BYTES ? size - done : MAX_CALL_BYTES;
        ssize_t got = pread(file->fd, (uint8_t *)data + done, want, (off_t)(offset + done));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            done += (size_t)got;
        } else if (errno != EINTR) {
            return fail(err, file->name, "cannot read");
        }
    }
    *ret_read = done;
    return true;
}

/* After a failed write: true if a retry makes sense. Another process may have made a terminal or
 * pipe non-blocking. */
static bool can_retry(const struct plat_file *file, struct error *err)
{
    if (errno == EINTR) {
        return true;
    }
    if (errno == EAGAIN) {
        struct pollfd ready = {.fd = file->fd, .events = POLLOUT};
        if (poll(&ready, 1, -1) >= 0 || errno == EINTR) {
            return true;
        }
    }
    if (errno == EPIPE) {
        error_set(err, ERR_STOPPED, "%s: closed by its reader", file->name);
        if (err) {
            err->os_code = EPIPE;
        }
        return false;
    }
    return fail(err, file->name, "cannot write");
}

uint64_t plat_file_next_data(struct plat_file *file, uint64_t offset)
{
    off_t data = lseek(file->fd, (off_t)offset, SEEK_DATA);
    if (data >= 0) {
        return (uint64_t)data;
    }
    struct stat st;
    bool is_hole = errno == ENXIO && fstat(file->fd, &st) == 0 && (uint64_t)st.st_size > offset;
    return is_hole ? (uint64_t)st.st_size : offset;
}

bool plat_file_write(struct plat_file *file, struct span bytes, struct error *err)
{
    while (bytes.size) {
        size_t want = bytes.size < MAX_CALL_BYTES ? bytes.size : MAX_CALL_BYTES;
        ssize_t written = write(file->fd, bytes.data, want);
        if (written >= 0) {
            bytes = span_from(bytes, (size_t)written);
        } else if (!can_retry(file, err)) {
            return false;
        }
    }
    return true;
}

/* At most 1 MB per call: ext4 of Linux 6.18 takes twice as long for larger writes, because it uses
 * page cache folios of that size. */
bool plat_file_write_pieces(
    struct plat_file *file, const struct span *pieces, size_t count, struct error *err)
{
    enum { MOST = 8, MOST_BYTES = 1 << 20 };
    struct iovec vector[MOST];
    size_t done = 0; /* bytes of the first piece */
    while (count) {
        size_t used = 0;
        size_t total = 0;
        for (; used < count && used < MOST && total < MOST_BYTES; used++) {
            struct span s = span_from(pieces[used], used ? 0 : done);
            s = span_first(s, MOST_BYTES - total);
            vector[used] = (struct iovec){(void *)(uintptr_t)s.data, s.size};
            total += s.size;
        }
        ssize_t written = total ? writev(file->fd, vector, (int)used) : 0;
        if (written < 0) {
            if (!can_retry(file, err)) {
                return false;
            }
            continue;
        }
        done += (size_t)written;
        while (count && done >= pieces->size) {
            done -= pieces->size;
            pieces++;
            count--;
        }
    }
    return true;
}

/*
 * O_NONBLOCK belongs to the open file description, which a shell shares with all its programs, so
 * it is set on a descriptor of our own, opened anew, instead of 1 or 2. That works for terminals
 * and pipes, which need it; an ordinary file opened anew would be overwritten from its beginning.
 */
static struct plat_file *open_standard(int fd, const char *name, struct error *err)
{
    struct plat_file *file = calloc(1, sizeof(*file));
    if (!file) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    (void)plat_file_stdout(); /* from now on a closed pipe is an error instead of a signal */
    set_name(file, name);
    struct stat st;
    file->fd = -1;
    if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || isatty(fd))) {
        const char *path = fd == STDOUT_FILENO ? "/proc/self/fd/1" : "/proc/self/fd/2";
        file->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
    if (file->fd < 0) {
        file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    }
    if (file->fd < 0) {
        fail(err, file->name, "cannot write to it");
        free(file);
        return NULL;
    }
    return file;
}

struct plat_file *plat_file_stdout_open(struct error *err)
{
    return open_standard(STDOUT_FILENO, stdout_file.name, err);
}

struct plat_file *plat_file_stderr_open(struct error *err)
{
    return open_standard(STDERR_FILENO, "standard error", err);
}

/* Files, and devices that are not terminals (/dev/null), do not wait for a reader. */
static bool has_no_reader(const struct plat_file *file)
{
    struct stat st;
    return fstat(file->fd, &st) == 0 &&
           (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(file->fd)));
}

/* Bytes to write at once to something that may block: what a pipe accepts atomically, unless it is
 * non-blocking. */
static size_t piece_of(const struct plat_file *file, size_t size)
{
    int flags = fcntl(file->fd, F_GETFL);
    if ((flags >= 0 && flags & O_NONBLOCK) || has_no_reader(file)) {
        return size < MAX_CALL_BYTES ? size : MAX_CALL_BYTES;
    }
    return size < PIPE_BUF ? size : PIPE_BUF;
}

bool plat_file_write_some(struct plat_file *file, struct span bytes, unsigned timeout_ms,
    size_t *ret_written, struct error *err)
{
    *ret_written = 0;
    while (bytes.size) {
        struct pollfd ready = {.fd = file->fd, .events = POLLOUT};
        int found = poll(&ready, 1, (int)(timeout_ms < INT_MAX ? timeout_ms : INT_MAX));
        if (found <= 0) {
            return true; /* also when interrupted: the caller checks the time */
        }
        ssize_t written = write(file->fd, bytes.data, piece_of(file, bytes.size));
        if (written >= 0) {
            bytes = span_from(bytes, (size_t)written);
            *ret_written += (size_t)written;
        } else if (errno == EAGAIN) {
            return true;
        } else if (!can_retry(file, err)) {
            return false;
        }
    }
    return true;
}

bool plat_file_sync(struct plat_file *file, struct error *err)
{
    while (fdatasync(file->fd) != 0) {
        /* a pipe, terminal or device without a disk; a file that became read-only, as after a disk
         * error on ext4, is an error */
        struct stat st;
        int code = errno;
        if (code == EINVAL ||
            (code == EROFS && fstat(file->fd, &st) == 0 && !S_ISREG(st.st_mode))) {
            return true;
        }
        errno = code;
        if (errno != EINTR) {
            return fail(err, file->name, "cannot write to the disk");
        }
    }
    return true;
}

bool plat_file_truncate(struct plat_file *file, uint64_t bytes, struct error *err)
{
    int result;
    do {
        result = ftruncate(file->fd, (off_t)bytes);
    } while (result != 0 && errno == EINTR);
    return result == 0 || fail(err, file->name, "cannot truncate it");
}

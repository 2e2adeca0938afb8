#define _GNU_SOURCE

#include "platform/plat_append.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/linux/plat_file_own.h"

/*
 * Writes with O_DIRECT (open(2)), which takes aligned whole blocks. Appended data is collected in a
 * stage that begins at a block of the file, and written when the stage is full. On a sync, whole
 * blocks are written in this way if worthwhile, and the rest through the page cache. The two ways
 * may be mixed once the cache is clean, as after a sync. A partial last block stays in the stage
 * and is written again with the following data: its old bytes do not change, so a power loss cannot
 * lose them.
 *
 * The stage is a huge page if available, which the system passes to the disk in one piece: a sixth
 * of the time of writing through the cache; with 4 KB pages it is a third. A larger stage would
 * gain little there and lose more by leaving the processor's cache. The system clears a new one,
 * so the next file gets that of a closed one.
 *
 * File systems without O_DIRECT, or with larger blocks, are written through the cache.
 */
enum {
    BLOCK_BYTES = 4096,    /* the block size of any disk, and a page */
    STAGE_BYTES = 1 << 20, /* part of a huge page */
    WORTH_BYTES = 64 << 10,
    HUGE_BYTES = 2 << 20,
    MAPPED_BYTES = 2 * HUGE_BYTES, /* has a whole huge page */
};

struct plat_append {
    int fd;
    bool is_direct; /* until the file system refuses it */
    bool is_cached; /* it will be read soon */
    bool is_loaded; /* the stage has the end of the file */
    bool is_cut;    /* by another program: writing stops */
    uint64_t at;    /* offset of the stage, a whole block */
    size_t used;
    size_t written; /* bytes of the stage that are in the file */
    uint8_t *stage; /* NULL: not allocated yet */
    void *mapped;   /* mapping that contains the stage */
    char path[];
};

static _Atomic(void *) spare; /* the mapping of a closed file; NULL: none */

static bool fail(struct error *err, const struct plat_append *file, const char *what)
{
    int code = errno;
    return error_set_os(err, code, strerror(code), "%s: %s", file->path, what);
}

struct plat_append *plat_append_open(const char *path, struct error *err)
{
    size_t size = strlen(path) + 1;
    struct plat_append *file = calloc(1, sizeof(*file) + size);
    if (!file) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    memcpy(file->path, path, size);
    file->is_direct = true;
    do {
        file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0666);
    } while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0) {
        fail(err, file, "cannot open for writing");
        free(file);
        return NULL;
    }
    if (!plat_file_check_own(file->fd, path, err)) {
        close(file->fd);
        free(file);
        return NULL;
    }
    return file;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static bool make_stage(struct plat_append *file, struct error *err)
{
    void *mapped = atomic_exchange(&spare, NULL);
    if (!mapped) {
        mapped = mmap(
            NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (mapped == MAP_FAILED) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", file->path);
    }
    size_t before = HUGE_BYTES - (uintptr_t)mapped % HUGE_BYTES;
    file->mapped = mapped;
    file->stage = (uint8_t *)mapped + before;
    (void)madvise(file->stage, HUGE_BYTES, MADV_HUGEPAGE);
    return true;
}

/* Fill the stage with the partial last block of the file. */
static bool load(struct plat_append *file, struct error *err)
{
    struct stat st;
    if (!file->stage && !make_stage(file, err)) {
        return false;
    }
    if (fstat(file->fd, &st) != 0) {
        return fail(err, file, "cannot get the size");
    }
    size_t size = S_ISREG(st.st_mode) ? (size_t)st.st_size % BLOCK_BYTES : 0;
    file->at = (uint64_t)st.st_size - size;
    ssize_t got;
    do {
        got = pread(file->fd, file->stage, size, (off_t)file->at);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return fail(err, file, "cannot read its end");
    }
    if ((size_t)got < size) {
        file->is_cut = true;
    }
    file->used = file->written = size;
    file->is_loaded = true;
    return true;
}

/* ---- to the file ----------------------------------------------------------------------------- */

/* False if the file does not support switching O_DIRECT. */
static bool set_direct(const struct plat_append *file, bool direct)
{
    int flags = fcntl(file->fd, F_GETFL);
    return flags >= 0 &&
           fcntl(file->fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* Write the stage from ${from} to ${end} and record it. False with errno set; ${code_for_none} if
 * the system writes nothing without an error. */
static bool write_part(struct plat_append *file, size_t from, size_t end, int code_for_none)
{
    while (from < end) {
        ssize_t size = pwrite(file->fd, file->stage + from, end - from, (off_t)(file->at + from));
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            errno = size ? errno : code_for_none;
            return false;
        }
        from += (size_t)size;
        file->written = from > file->written ? from : file->written;
    }
    return true;
}

/* Write the whole blocks past the cache, if worthwhile. */
static bool write_blocks(struct plat_append *file, size_t end, struct error *err)
{
    size_t from = file->written - file->written % BLOCK_BYTES;
    if (!file->is_direct || file->is_cached || end < from + WORTH_BYTES) {
        return true;
    }
    file->is_direct = set_direct(file, true);
    if (!file->is_direct) {
        return true;
    }
    bool ok = write_part(file, from, end, EINVAL);
    int code = errno;
    (void)set_direct(file, false);
    if (!ok && code == EINVAL) { /* blocks do not suit it, or it wrote part of one */
        file->is_direct = false;
        return true;
    }
    errno = code;
    return ok || fail(err, file, "cannot write");
}

/* Check that the file has the expected size. */
static bool check_size(struct plat_append *file, struct error *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0) {
        return fail(err, file, "cannot get the size");
    }
    file->is_cut |= S_ISREG(st.st_mode) && (uint64_t)st.st_size < file->at + file->written;
    return true;
}

/* Write everything staged. A partial last block stays in the stage. */
static bool flush(struct plat_append *file, struct error *err)
{
    size_t last = file->used % BLOCK_BYTES;
    size_t whole = file->used - last;
    if (!file->is_loaded || file->written == file->used) {
        return true;
    }
    if (!check_size(file, err)) {
        return false;
    }
    if (!file->is_cut) {
        if (!write_blocks(file, whole, err)) {
            return false;
        }
        if (!write_part(file, file->written, file->used, EIO)) {
            return fail(err, file, "cannot write");
        }
    }
    memmove(file->stage, file->stage + whole, last);
    file->at += whole;
    file->used = file->written = last;
    return true;
}

bool plat_append_write(
    struct plat_append *file, const struct span *pieces, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct span left = pieces[i];
        while (left.size) {
            if (!file->is_loaded && !load(file, err)) {
                return false;
            }
            struct span part = span_first(left, STAGE_BYTES - file->used);
            memcpy(file->stage + file->used, part.data, part.size);
            file->used += part.size;
            left = span_from(left, part.size);
            if (file->used == STAGE_BYTES && !flush(file, err)) {
                return false;
            }
        }
    }
    return true;
}

void plat_append_expect_reads(struct plat_append *file, bool expected)
{
    file->is_cached = expected;
}

bool plat_append_truncate(struct plat_append *file, uint64_t bytes, struct error *err)
{
    uint64_t end = bytes;
    if (file->is_loaded && bytes >= file->at && bytes - file->at <= file->used) {
        file->used = (size_t)(bytes - file->at);
        file->written = file->written < file->used ? file->written : file->used;
        end = file->at + file->written; /* the rest waits */
    } else {
        file->is_loaded = false;
    }
    int result;
    do {
        result = ftruncate(file->fd, (off_t)end);
    } while (result != 0 && errno == EINTR);
    return result == 0 || fail(err, file, "cannot truncate it");
}

bool plat_append_sync(struct plat_append *file, struct error *err)
{
    if (!flush(file, err)) {
        return false;
    }
    if (file->is_cut) {
        return error_set(err, ERR_DAMAGED, "%s: another program truncated it", file->path);
    }
    while (fdatasync(file->fd) != 0) {
        if (errno != EINTR) {
            return fail(err, file, "cannot write to the disk");
        }
    }
    return true;
}

void plat_append_close(struct plat_append *file)
{
    if (!file) {
        return;
    }
    flush(file, NULL);
    close(file->fd);
    void *extra = file->mapped ? atomic_exchange(&spare, file->mapped) : NULL;
    if (extra) {
        munmap(extra, MAPPED_BYTES);
    }
    free(file);
}

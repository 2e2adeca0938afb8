/*
 * The ballast is a file of bytes that no file system shrinks or leaves out: they are random, and
 * really written. It is given up when the disk is full, so that there is room for the commits that
 * free more.
 */
#include "store/disk/segments_own.h"

#include <stdio.h>

enum { PIECE_BYTES = 16 << 10 };

static bool path_of(const struct segments *segments, char ret_path[SEGMENTS_PATH_BYTES])
{
    int size = snprintf(ret_path, SEGMENTS_PATH_BYTES, "%s/ballast", segments->settings.folder);
    return size > 0 && size < SEGMENTS_PATH_BYTES;
}

static void set_ballast(struct segments *segments, bool there)
{
    plat_mutex_lock(&segments->lock);
    segments->has_ballast = there;
    plat_mutex_unlock(&segments->lock);
}

void segments_find_ballast(struct segments *segments)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there = false;
    uint64_t bytes = 0;
    bool found = path_of(segments, path) && disk->ops->find(disk, path, &there, &bytes, NULL);
    set_ballast(segments, found && there && bytes > 0 && bytes >= segments->settings.ballast_bytes);
}

bool segments_release_ballast(struct segments *segments)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    if (!segments->has_ballast || !path_of(segments, path)) {
        return false;
    }
    segments_step(segments, "ballast release");
    if (!disk->ops->unlink(disk, path, NULL)) {
        return false;
    }
    set_ballast(segments, false);
    return true;
}

static bool write_ballast(struct segments *segments, struct disk_file *file)
{
    struct disk *disk = segments->settings.disk;
    uint64_t piece[PIECE_BYTES / sizeof(uint64_t)];
    uint64_t random = segments->epoch | 1;
    uint64_t left = segments->settings.ballast_bytes;
    while (left) {
        /* xorshift64 (Marsaglia 2003). */
        for (size_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            piece[i] = random;
        }
        struct span bytes = span_make(piece, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
        if (!disk->ops->append(disk, file, &bytes, 1, NULL)) {
            return false;
        }
        left -= bytes.size;
    }
    return disk->ops->sync(disk, file, NULL);
}

bool segments_keep_ballast(struct segments *segments, uint64_t floor_bytes)
{
    struct disk *disk = segments->settings.disk;
    uint64_t wanted = segments->settings.ballast_bytes;
    uint64_t free_bytes = 0;
    char path[SEGMENTS_PATH_BYTES];
    if (segments->has_ballast || wanted == 0) {
        return true;
    }
    if (!path_of(segments, path) || !segments_free_bytes(segments, &free_bytes, NULL) ||
        free_bytes / 2 < wanted || free_bytes - 2 * wanted < floor_bytes) {
        return false;
    }
    segments_step(segments, "ballast make");
    /* The remains of one after a crash. */
    struct disk_file *file = disk->ops->unlink(disk, path, NULL)
                                 ? disk->ops->open_append(disk, path, NULL)
                                 : NULL;
    bool good = file && write_ballast(segments, file);
    if (file) {
        disk->ops->close(disk, file);
    }
    if (!good) {
        disk->ops->unlink(disk, path, NULL);
    }
    set_ballast(segments, good);
    return good;
}

#include "store/disk_room.h"

#include <stdlib.h>

#include "store/letters/letter_files.h"

enum {
    ASK_FREE_MS = 1000,
    BALLAST_BYTES = 8 << 20,
    SOME_BYTES = 1 << 20, /* free on a disk that is not full */
};

struct disk_room {
    struct segments *segments;
    const struct ages *ages;
    const char *letters; /* their folder */
    uint64_t max_bytes;
    uint64_t min_free_bytes;
    bool is_in_memory;
    bool keeps_ballast;

    uint64_t free_bytes;      /* of the disk, when it was asked last */
    uint64_t catalogue_bytes; /* with the files of dead letters, the same */
    uint64_t asked_ms;
    bool is_full; /* for batches, said a commit; and no room was seen since */
};

uint64_t disk_room_ballast_bytes(const struct store_settings *settings)
{
    uint64_t part = settings->max_bytes / 16;
    if (settings->no_batches) {
        return 0;
    }
    return settings->max_bytes && part < BALLAST_BYTES ? part : BALLAST_BYTES;
}

struct disk_room *disk_room_create(const struct store_settings *settings,
    const struct folder *folder, struct segments *segments, const struct ages *ages)
{
    struct disk_room *room = calloc(1, sizeof(*room));
    if (room) {
        *room = (struct disk_room){.segments = segments,
            .ages = ages,
            .letters = folder_letters(folder),
            .max_bytes = settings->max_bytes,
            .min_free_bytes = settings->min_free_bytes,
            .is_in_memory = folder_is_in_memory(folder),
            .keeps_ballast = !settings->no_batches};
    }
    return room;
}

void disk_room_destroy(struct disk_room *room)
{
    free(room);
}

void disk_room_look(struct disk_room *room, struct catalogue *catalogue)
{
    struct segments_usage usage;
    uint64_t free_bytes;
    uint64_t files;
    room->asked_ms = ages_monotonic_ms(room->ages);
    bool known = segments_free_bytes(room->segments, &free_bytes, NULL);
    room->free_bytes = known ? free_bytes : UINT64_MAX;
    segments_usage(room->segments, &usage);
    if (!usage.ballast && known && room->keeps_ballast) {
        segments_keep_ballast(room->segments, room->min_free_bytes);
    }
    if (catalogue && known && !room->is_in_memory && free_bytes >= SOME_BYTES) {
        catalogue_reserve(catalogue, NULL);
    }
    room->catalogue_bytes = letter_files_bytes(room->letters, &files) +
                            (catalogue ? catalogue_disk_bytes(catalogue) : 0);
}

uint64_t disk_room_free_bytes(const struct disk_room *room)
{
    return room->free_bytes;
}

uint64_t disk_room_catalogue_bytes(const struct disk_room *room)
{
    return room->catalogue_bytes;
}

uint64_t disk_room_segment_bytes(const struct disk_room *room)
{
    struct segments_usage usage;
    segments_usage(room->segments, &usage);
    return usage.bytes;
}

/* The catalogue counts too, but as a quarter of all at most, because dropping batches does not
 * shrink it. */
static uint64_t limit_of_segments(const struct disk_room *room)
{
    uint64_t bytes = room->catalogue_bytes;
    uint64_t quarter = room->max_bytes / 4;
    return room->max_bytes - (bytes < quarter ? bytes : quarter);
}

uint64_t disk_room_capacity(const struct disk_room *room)
{
    uint64_t capacity = room->max_bytes ? limit_of_segments(room) : UINT64_MAX;
    uint64_t used = disk_room_segment_bytes(room);
    if (room->free_bytes < UINT64_MAX - used) {
        uint64_t floor = room->min_free_bytes;
        uint64_t disk = room->free_bytes > floor ? room->free_bytes - floor : 0;
        disk += used;
        capacity = disk < capacity ? disk : capacity;
    }
    return capacity;
}

enum store_room disk_room_for(struct disk_room *room, struct catalogue *catalogue, uint64_t more)
{
    uint64_t min_free = room->min_free_bytes;
    if (ages_monotonic_ms(room->ages) - room->asked_ms >= ASK_FREE_MS) {
        disk_room_look(room, catalogue);
    }
    uint64_t max_bytes = limit_of_segments(room);
    if (max_bytes && disk_room_segment_bytes(room) + more > max_bytes) {
        return STORE_ROOM_FULL;
    }
    return room->is_full ||
                   (min_free && (room->free_bytes < more || room->free_bytes - more < min_free))
               ? STORE_ROOM_DISK
               : STORE_ROOM_OK;
}

void disk_room_set_full(struct disk_room *room, bool is_full)
{
    room->is_full = is_full;
}

bool disk_room_is_full(const struct disk_room *room)
{
    return room->is_full;
}

void disk_room_look_again(struct disk_room *room)
{
    struct segments_usage usage;
    uint64_t free_bytes;
    if (!room->is_full) {
        return;
    }
    segments_usage(room->segments, &usage);
    room->is_full = !segments_free_bytes(room->segments, &free_bytes, NULL) ||
                    free_bytes < SOME_BYTES + (usage.ballast ? 0 : (uint64_t)BALLAST_BYTES);
}

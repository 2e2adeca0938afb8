#ifndef ETWSHIP_STORE_DISK_ROOM_H
#define ETWSHIP_STORE_DISK_ROOM_H

#include "store/ages.h"
#include "store/folder.h"

/* How much room is left: on the disk, and of max_bytes. One thread at a time. */
struct disk_room;

/* Of the ballast, which a full disk is given (segments_keep_ballast). */
uint64_t disk_room_ballast_bytes(const struct store_settings *settings);

/* Of ${settings}: the limits. NULL: out of memory. */
struct disk_room *disk_room_create(const struct store_settings *settings,
    const struct folder *folder, struct segments *segments, const struct ages *ages);
void disk_room_destroy(struct disk_room *room);

/* Look after the disk: how much is free and taken, and the ballast. ${catalogue} may be NULL, here
 * and below. */
void disk_room_look(struct disk_room *room, struct catalogue *catalogue);

/* As of the last look: what is free (UINT64_MAX: unknown), and what the catalogue has together with
 * the files of dead letters. */
uint64_t disk_room_free_bytes(const struct disk_room *room);
uint64_t disk_room_catalogue_bytes(const struct disk_room *room);

uint64_t disk_room_segment_bytes(const struct disk_room *room);

/* As store_capacity and store_room; ${more}: with what is staged. */
uint64_t disk_room_capacity(const struct disk_room *room);
enum store_room disk_room_for(struct disk_room *room, struct catalogue *catalogue, uint64_t more);

/* A commit found the disk full for batches, or not. */
void disk_room_set_full(struct disk_room *room, bool is_full);
bool disk_room_is_full(const struct disk_room *room);

/* A full disk may have room again, for batches, and for the ballast where that was given up. */
void disk_room_look_again(struct disk_room *room);

#endif

#ifndef ETWSHIP_STORE_FOLDER_H
#define ETWSHIP_STORE_FOLDER_H

#include "store/disk/disk.h"
#include "store/store.h"

/* The spool's folder and the paths in it. */
enum { FOLDER_PATH_BYTES = 4096 };

struct folder;

/* Of ${settings}: `folder`, and the disk that it lies on. NULL with ${err} set. */
struct folder *folder_create(const struct store_settings *settings, struct error *err);
void folder_destroy(struct folder *folder);

/* Everything is in memory; the paths are of no use. */
bool folder_is_in_memory(const struct folder *folder);

struct disk *folder_disk(const struct folder *folder);
const char *folder_path(const struct folder *folder);
const char *folder_catalogue(const struct folder *folder);
const char *folder_letters(const struct folder *folder); /* of dead letters (letter_files.h) */
const char *folder_damaged(const struct folder *folder); /* of what cannot be read */

/* It may be gone: make it. */
void folder_make(const struct folder *folder);

#endif

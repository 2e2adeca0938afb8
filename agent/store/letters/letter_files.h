#ifndef ETWSHIP_STORE_LETTER_FILES_H
#define ETWSHIP_STORE_LETTER_FILES_H

#include "store/catalogue/catalogue_letters.h"

/*
 * A second copy of dead letters, beside the catalogue: if that is damaged or lost, it gets them
 * from here. Files of frames (frame.h) in a folder of their own, appended to and never changed, so
 * damage costs only what it hits. Their names are NUMBER-FIRST.let: their number, ascending, and
 * the number of the first letter that may stand in them.
 *
 * A frame of stream 1 is a letter: its batch is the letter's number, its body what the catalogue
 * keeps of it. A frame of stream 2 lists removed letters: those up to a number, and some others.
 * Frames apply in order, so a number may be used again.
 *
 * A letter is written here before the catalogue, and listed as removed after it. So a removed
 * letter comes back only if the process ended between the two and the catalogue was lost later.
 * Several processes may append, one at a time by the file `lock`.
 */
enum { LETTER_FILES_FILE_BYTES = 8 << 20 /* a longer file gets nothing more */ };

struct letter_files_change {
    const struct catalogue_letter *letters; /* with their ids; those with id 0 are left out */
    size_t count;
    uint64_t gone_to;     /* letters up to this one are gone; 0: none */
    const uint64_t *gone; /* and these */
    size_t gone_count;
    uint64_t next; /* the catalogue has not given this number, or a higher one, before the change */
};

/* Append ${change} to the files in ${folder}, which is made; durable when this returns true. */
bool letter_files_append(
    const char *folder, const struct letter_files_change *change, struct error *err);

/* Remove the files without letters from ${first} on. Files that cannot be removed now are tried
 * again later. */
void letter_files_trim(const char *folder, uint64_t first);

/* Write all letters of ${catalogue} to a new file and remove the others. In a transaction, so that
 * no letter is put or removed meanwhile. */
bool letter_files_rewrite(const char *folder, struct catalogue *catalogue, struct error *err);

/* Bytes of the files, and how many there are; 0 where there is no such folder. */
uint64_t letter_files_bytes(const char *folder, uint64_t *ret_files);

/* Callbacks for the content, in order. They return false to end the reading, which then fails, and
 * set ${err} of letter_files_read themselves. */
struct letter_files_reader {
    bool (*letter)(void *self, const struct catalogue_letter *letter); /* with its id */
    bool (*gone)(void *self, uint64_t to, struct span ids);            /* ids: 8 bytes each, LE */
    bool (*damaged)(void *self, uint64_t id); /* this letter cannot be read */
    void *self;
};

/* ${ret_skipped}: bytes of which nothing can be said, or that the disk does not give back. */
bool letter_files_read(const char *folder, const struct letter_files_reader *reader,
    uint64_t *ret_skipped, struct error *err);

/* As letter_files_read, of the newest file alone. */
bool letter_files_read_newest(const char *folder, const struct letter_files_reader *reader,
    uint64_t *ret_skipped, struct error *err);

#endif

#ifndef ETWSHIP_STORE_LETTER_FILES_H
#define ETWSHIP_STORE_LETTER_FILES_H

#include "store/catalogue/catalogue_letters.h"

/*
 * Dead letters a second time, beside the catalogue: when that is damaged or gone, they are made anew from
 * here. Files of frames (frame.h) in a folder of their own, appended to and never changed, so that damage
 * costs what it hits and no more. Their names are NUMBER-FIRST.let: their number, ascending, and the number
 * of the first letter that may stand in them.
 *
 * A frame of stream 1 is a letter: its batch is the letter's number, its body what the catalogue keeps of
 * it. A frame of stream 2 tells of letters that are gone: those up to a number, and some others. Frames
 * count in their order, so a number may be given again.
 *
 * A letter stands here before it does in the catalogue, and is told as gone after that. So a letter that was
 * removed comes back only if the process ended between the two and the catalogue was lost later; nothing
 * else does. Several processes may append; the file `lock` keeps them apart for that moment.
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

/* Remove the files that hold no letter from ${first} on. What cannot be removed now is tried again later. */
void letter_files_trim(const char *folder, uint64_t first);

/* Write all letters of ${catalogue} to a new file and remove the others. In a transaction, so that
 * no letter is put or removed meanwhile. */
bool letter_files_rewrite(const char *folder, struct catalogue *catalogue, struct error *err);

/* Bytes of the files, and how many there are; 0 where there is no such folder. */
uint64_t letter_files_bytes(const char *folder, uint64_t *ret_files);

/* What there is, in order. Functions return false to end the reading, which then fails; they set ${err} of
 * letter_files_read themselves. */
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

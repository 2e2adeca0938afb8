#ifndef ETWSHIP_STORE_LETTER_FILES_OWN_H
#define ETWSHIP_STORE_LETTER_FILES_OWN_H

#include "store/letters/letter_files.h"

/* Within letter_files*.c alone. */

enum {
    LETTER_PATH_BYTES = 4096,
    LETTER_STREAM = 1,
    GONE_STREAM = 2,
    /* Texts, the document, and what stands before each of them. */
    LETTER_BODY_MAX_BYTES = CATALOGUE_DOCUMENT_MAX_BYTES + 8 * CATALOGUE_TEXT_MAX_BYTES + 4096,
};

struct letter_file {
    uint64_t number;
    uint64_t first;
    uint64_t bytes;
};

struct letter_file_list {
    struct letter_file *files; /* by number */
    size_t count;
    size_t capacity;
    const char *folder;
    bool failed;
};

/* The files of ${folder}; none where it is not there. The caller frees ret_list->files. */
bool letter_files_list(const char *folder, struct letter_file_list *ret_list, struct error *err);

/* The path of a file, with ${ending} (empty, or `.new`). False: too long. */
bool letter_files_path(const char *folder, const struct letter_file *file, const char *ending,
    char ret_path[LETTER_PATH_BYTES]);

#endif

#ifndef ETWSHIP_OUTPUTS_FILE_NUMBER_H
#define ETWSHIP_OUTPUTS_FILE_NUMBER_H

#include "base/error.h"
#include "base/span.h"

/* Names of rotated files: PATH.7, or PATH.7.gz once it is compressed. */
#define FILE_NUMBER_MAX UINT64_C(999999999999)

struct file_number {
    uint64_t number; /* 1 to FILE_NUMBER_MAX */
    bool compressed;
};

/* True if ${ending}, the text after PATH, is that of a rotated file. */
bool file_number_parse(struct span ending, struct file_number *ret_number);

/* Call ${each} for the rotated files of ${path}, in no order, until it returns false. False with
 * ${err} set if the folder cannot be read; one that is missing is empty. */
typedef bool file_number_fn(void *self, const char *path, struct file_number number);
bool file_number_each(const char *path, file_number_fn *each, void *self, struct error *err);

/* The folder of ${path}, "." if it has none; the caller frees. NULL: out of memory. */
char *file_number_folder(const char *path);

#endif

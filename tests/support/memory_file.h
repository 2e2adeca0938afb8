#ifndef ETWSHIP_TESTS_SUPPORT_MEMORY_FILE_H
#define ETWSHIP_TESTS_SUPPORT_MEMORY_FILE_H

#include "base/error.h"
#include "base/span.h"

/* Bytes as a file of struct pe_input and struct msf_input, and how it was read. */
struct memory_file {
    struct span bytes;
    size_t reads;
    size_t bytes_read;
};

/* ${self}: a struct memory_file. As plat_file_read_at; never fails. */
bool memory_file_read(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);

#endif

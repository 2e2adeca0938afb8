#include "support/memory_file.h"

bool memory_file_read(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    struct memory_file *file = self;
    (void)err;
    struct span rest = offset < file->bytes.size
                           ? span_first(span_from(file->bytes, (size_t)offset), size)
                           : span_make(NULL, 0);
    if (rest.size) {
        memcpy(data, rest.data, rest.size);
    }
    *ret_read = rest.size;
    file->reads++;
    file->bytes_read += rest.size;
    return true;
}

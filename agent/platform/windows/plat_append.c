#include "platform/plat_append.h"

#include "platform/plat_file.h"

/* An ordinary file of plat_file.h, written through the system's cache. */

static struct plat_file *file_of(struct plat_append *file)
{
    return (struct plat_file *)file;
}

struct plat_append *plat_append_open(const char *path, struct error *err)
{
    return (struct plat_append *)plat_file_open(path, PLAT_FILE_APPEND, err);
}

void plat_append_close(struct plat_append *file)
{
    plat_file_close(file_of(file));
}

bool plat_append_write(
    struct plat_append *file, const struct span *pieces, size_t count, struct error *err)
{
    return plat_file_write_pieces(file_of(file), pieces, count, err);
}

void plat_append_expect_reads(struct plat_append *file, bool expected)
{
    (void)file;
    (void)expected;
}

bool plat_append_truncate(struct plat_append *file, uint64_t bytes, struct error *err)
{
    return plat_file_truncate(file_of(file), bytes, err);
}

bool plat_append_sync(struct plat_append *file, struct error *err)
{
    return plat_file_sync(file_of(file), err);
}

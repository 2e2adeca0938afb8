#include "input/bytes/etl_bytes.h"

#include <inttypes.h>

#include "platform/plat_file.h"

static void unlink_handle(struct etl_bytes *bytes)
{
    struct etl_handles *handles = bytes->handles;
    *(bytes->newer ? &bytes->newer->older : &handles->newest) = bytes->older;
    *(bytes->older ? &bytes->older->newer : &handles->oldest) = bytes->newer;
    bytes->newer = NULL;
    bytes->older = NULL;
}

static void link_newest(struct etl_bytes *bytes)
{
    struct etl_handles *handles = bytes->handles;
    bytes->older = handles->newest;
    *(handles->newest ? &handles->newest->newer : &handles->oldest) = bytes;
    handles->newest = bytes;
}

/* Open the handle if necessary and mark it as recently used. */
static bool use_handle(struct etl_bytes *bytes, struct error *err)
{
    struct etl_handles *handles = bytes->handles;
    if (handles->newest == bytes) {
        return true;
    }
    if (bytes->file) {
        unlink_handle(bytes);
        link_newest(bytes);
        return true;
    }
    if (handles->open >= ETL_HANDLES_MAX) {
        etl_bytes_close(handles->oldest);
    }
    bytes->file = plat_file_open(bytes->path, PLAT_FILE_READ, err);
    if (!bytes->file) {
        return false;
    }
    handles->open++;
    link_newest(bytes);
    return true;
}

bool etl_bytes_open(
    struct etl_bytes *bytes, const char *path, struct etl_handles *handles, struct error *err)
{
    *bytes = (struct etl_bytes){.path = path, .handles = handles};
    if (!use_handle(bytes, err)) {
        return false;
    }
    if (!plat_file_size(bytes->file, &bytes->size, err)) {
        etl_bytes_close(bytes);
        return false;
    }
    return true;
}

void etl_bytes_use_memory(struct etl_bytes *bytes, struct span memory, const char *name)
{
    static const uint8_t nothing[1];
    *bytes = (struct etl_bytes){
        .path = name,
        .size = memory.size,
        .memory = span_make(memory.data ? memory.data : nothing, memory.size),
    };
}

void etl_bytes_use_part(struct etl_bytes *bytes, const struct etl_part *part, const char *name)
{
    *bytes = (struct etl_bytes){.path = name, .size = part->size, .part = *part};
}

void etl_bytes_close(struct etl_bytes *bytes)
{
    if (bytes->file) {
        unlink_handle(bytes);
        bytes->handles->open--;
        plat_file_close(bytes->file);
        bytes->file = NULL;
    }
}

bool etl_bytes_read(struct etl_bytes *bytes, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err)
{
    if (offset >= bytes->size) {
        *ret_read = 0;
        return true;
    }
    if (size > bytes->size - offset) {
        size = (size_t)(bytes->size - offset);
    }
    if (bytes->memory.data) {
        memcpy(data, bytes->memory.data + offset, size);
        *ret_read = size;
        return true;
    }
    struct error why;
    const struct etl_part *part = &bytes->part;
    bool good = part->file
                    ? plat_file_read_at(part->file, part->base + offset, data, size, ret_read, &why)
                    : use_handle(bytes, &why) &&
                          plat_file_read_at(bytes->file, offset, data, size, ret_read, &why);
    if (!good) {
        error_set(err, why.code, "%s: cannot read at offset %" PRIu64 ": %s", bytes->path, offset,
            why.text);
        if (err) {
            err->os_code = why.os_code;
        }
        return false;
    }
    return true;
}

uint64_t etl_bytes_next_data(struct etl_bytes *bytes, uint64_t offset)
{
    struct error ignored;
    const struct etl_part *part = &bytes->part;
    uint64_t next = offset;
    if (part->file) {
        next = plat_file_next_data(part->file, part->base + offset) - part->base;
    } else if (!bytes->memory.data && use_handle(bytes, &ignored)) {
        next = plat_file_next_data(bytes->file, offset);
    }
    return next < bytes->size ? next : bytes->size;
}

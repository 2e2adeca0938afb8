#include "app/support/zip_file.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/text/calendar.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum {
    LOCAL_HEADER = 0x04034b50,
    CENTRAL_HEADER = 0x02014b50,
    DIRECTORY_END = 0x06054b50,
    VERSION = 20,          /* 2.0: deflate */
    MADE_ON_UNIX = 3 << 8, /* what the upper half of the attributes means */
    MODE = 0100600,        /* an ordinary file, its owner's alone */
    NAME_IS_UTF8 = 0x0800,
    DEFLATE = 8,
    NO_WRAPPER = -MAX_WBITS,
    MEMORY_LEVEL = 8,
    MAX_NAME_BYTES = 1024,
    MAX_DIRECTORY_BYTES = ZIP_FILE_MAX_MEMBERS * (MAX_NAME_BYTES + 64),
};

static void put16(struct buf *out, unsigned value)
{
    buf_add_le16(out, (uint16_t)value);
}

static void put32(struct buf *out, uint64_t value)
{
    buf_add_le32(out, (uint32_t)value);
}

bool zip_file_create(struct zip_file *zip, const char *path, uint64_t time, struct error *err)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE_PRIVATE, err);
    *zip = (struct zip_file){.file = file, .path = path, .time = time};
    buf_init(&zip->directory, MAX_DIRECTORY_BYTES);
    return file != NULL;
}

static bool write_out(struct zip_file *zip, const struct buf *bytes, struct error *err)
{
    zip->offset += bytes->size;
    return (!bytes->failed || error_set(err, ERR_MEMORY, "%s: out of memory", zip->path)) &&
           plat_file_write(zip->file, buf_span(bytes), err);
}

/* DOS has counted from 1980 in steps of two seconds, and in local time; UTC tells more. */
static void put_time(const struct zip_file *zip, struct buf *out)
{
    enum { FIRST_YEAR = 1980, LAST_YEAR = 2107 };
    uint64_t seconds = zip->time / CALENDAR_TICKS_PER_SECOND;
    int64_t day = (int64_t)(seconds / CALENDAR_SECONDS_PER_DAY);
    unsigned second = (unsigned)(seconds % CALENDAR_SECONDS_PER_DAY);
    unsigned year = calendar_year(day);
    unsigned month = 1;
    unsigned of_year = (unsigned)(day - calendar_day(year, 1, 1));
    while (of_year >= calendar_days_in_month(year, month)) {
        of_year -= calendar_days_in_month(year, month++);
    }
    bool fits = year >= FIRST_YEAR && year <= LAST_YEAR;
    put16(out, fits ? second / 3600 << 11 | second / 60 % 60 << 5 | second % 60 / 2 : 0);
    put16(out, fits ? (year - FIRST_YEAR) << 9 | month << 5 | (of_year + 1) : 1 << 5 | 1);
}

/* ${bytes} as RFC 1951 has it. */
static bool deflate_all(struct span bytes, struct buf *out, struct error *err)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, NO_WRAPPER, MEMORY_LEVEL,
            Z_DEFAULT_STRATEGY) != Z_OK) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    uLong bound = deflateBound(&stream, (uLong)bytes.size);
    bool good = buf_reserve(out, bound);
    if (good) {
        /* zlib does not write to what it reads. */
        stream.next_in = (Bytef *)(uintptr_t)bytes.data;
        stream.avail_in = (uInt)bytes.size;
        stream.next_out = out->data + out->size;
        stream.avail_out = (uInt)bound;
        good = deflate(&stream, Z_FINISH) == Z_STREAM_END;
        out->size += bound - stream.avail_out;
    }
    deflateEnd(&stream);
    return good || error_set(err, ERR_MEMORY, "out of memory");
}

/* The common part of a member's header and its directory entry. */
static void put_facts(
    const struct zip_file *zip, struct span bytes, size_t packed, size_t name_size, struct buf *out)
{
    put16(out, VERSION);
    put16(out, NAME_IS_UTF8);
    put16(out, DEFLATE);
    put_time(zip, out);
    put32(out, crc32(0, bytes.size ? bytes.data : (const Bytef *)"", (uInt)bytes.size));
    put32(out, packed);
    put32(out, bytes.size);
    put16(out, (unsigned)name_size);
    put16(out, 0); /* no extra field */
}

static void put_entry(struct zip_file *zip, const char *name, struct span bytes, size_t packed)
{
    struct buf *out = &zip->directory;
    put32(out, CENTRAL_HEADER);
    put16(out, MADE_ON_UNIX | VERSION);
    put_facts(zip, bytes, packed, strlen(name), out);
    put16(out, 0); /* no comment */
    put16(out, 0); /* the first disk */
    put16(out, 1); /* text, as it seems */
    put32(out, (uint64_t)MODE << 16);
    put32(out, zip->offset);
    buf_add_text(out, name);
}

bool zip_file_add(struct zip_file *zip, const char *name, struct span bytes, struct error *err)
{
    size_t name_size = strlen(name);
    if (zip->members >= ZIP_FILE_MAX_MEMBERS || bytes.size > ZIP_FILE_MAX_MEMBER_BYTES ||
        name_size > MAX_NAME_BYTES) {
        return error_set(err, ERR_LIMIT, "%s: %.100s is too much", zip->path, name);
    }
    struct buf packed;
    struct buf head;
    buf_init(&packed, 2 * ZIP_FILE_MAX_MEMBER_BYTES);
    buf_init(&head, 64 + MAX_NAME_BYTES);
    bool good = deflate_all(bytes, &packed, err);
    if (good) {
        put_entry(zip, name, bytes, packed.size);
        put32(&head, LOCAL_HEADER);
        put_facts(zip, bytes, packed.size, name_size, &head);
        buf_add_text(&head, name);
        good = write_out(zip, &head, err) && write_out(zip, &packed, err) &&
               (zip->offset < INT32_MAX ||
                   error_set(err, ERR_LIMIT, "%s: the file grows too large", zip->path));
        zip->members++;
    }
    buf_fini(&head);
    buf_fini(&packed);
    return good;
}

bool zip_file_finish(struct zip_file *zip, struct error *err)
{
    struct buf end;
    uint64_t at = zip->offset;
    buf_init(&end, 64);
    put32(&end, DIRECTORY_END);
    put16(&end, 0); /* one disk, the first */
    put16(&end, 0);
    put16(&end, (unsigned)zip->members);
    put16(&end, (unsigned)zip->members);
    put32(&end, zip->directory.size);
    put32(&end, at);
    put16(&end, 0); /* no comment */
    bool good = write_out(zip, &zip->directory, err) && write_out(zip, &end, err) &&
                plat_file_sync(zip->file, err);
    buf_fini(&end);
    if (good) {
        plat_file_close(zip->file);
        zip->file = NULL;
    }
    return good;
}

void zip_file_fini(struct zip_file *zip)
{
    if (zip->file) {
        plat_file_close(zip->file);
        plat_path_remove(zip->path, NULL);
    }
    buf_fini(&zip->directory);
    *zip = (struct zip_file){0};
}

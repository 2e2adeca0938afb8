#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "input/bytes/packed_own.h"
#include "platform/plat_locale.h"

/*
 * Reads zip and cab with libarchive through the callbacks below. Only one format and no filter is
 * enabled, so nothing else is recognised inside.
 *
 * A zip lists its members at its end. If that list is missing because the file is truncated, the
 * members' own headers are read from the start as far as they go.
 */
struct reader {
    struct packed_walk *walk;
    uint64_t offset;
    bool failed; /* the walk's error is set; libarchive's is ignored */
    bool began;  /* the list of members was read */
    uint64_t list_bytes;
    uint8_t window[PACKED_WINDOW_BYTES];
};

static la_ssize_t on_read(struct archive *archive, void *self, const void **ret_data)
{
    struct reader *reader = self;
    size_t got = 0;
    if (!packed_read(reader->walk, reader->offset, reader->window, sizeof(reader->window), &got)) {
        reader->failed = true;
        archive_set_error(archive, EIO, "cannot be read");
        return ARCHIVE_FATAL;
    }
    reader->offset += got;
    reader->list_bytes += reader->began ? 0 : got;
    if (reader->list_bytes > reader->walk->limits->max_list_bytes) {
        reader->failed = true;
        error_set(reader->walk->err, ERR_LIMIT,
            "%s: its list of files is too long. unpack the traces", reader->walk->bytes->path);
        return ARCHIVE_FATAL;
    }
    *ret_data = reader->window;
    return (la_ssize_t)got;
}

static la_int64_t on_seek(struct archive *archive, void *self, la_int64_t offset, int whence)
{
    struct reader *reader = self;
    int64_t size = (int64_t)reader->walk->bytes->size;
    int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)reader->offset : size;
    (void)archive;
    if (offset < -base || offset > size - base) {
        return ARCHIVE_FATAL;
    }
    reader->offset = (uint64_t)(base + offset);
    return base + offset;
}

static la_int64_t on_skip(struct archive *archive, void *self, la_int64_t count)
{
    struct reader *reader = self;
    uint64_t left = reader->walk->bytes->size - reader->offset;
    (void)archive;
    if (count < 0 || !packed_goes_on(reader->walk)) {
        reader->failed = reader->failed || count >= 0;
        return 0;
    }
    uint64_t skipped = (uint64_t)count < left ? (uint64_t)count : left;
    reader->offset += skipped;
    return (la_int64_t)skipped;
}

/* True for members that are stored or deflated. Other methods of libarchive may need as much memory
 * as a hostile file requests. All methods of a cab are bounded. */
static bool is_method_read(struct archive *archive, enum packed_kind kind)
{
    const char *format = archive_format_name(archive);
    return kind != PACKED_ZIP || !format || !strchr(format, '(') || strstr(format, "(deflation)") ||
           strstr(format, "(uncompressed)");
}

static void refuse(struct reader *reader, const char *why)
{
    const struct packed_visitor *visitor = reader->walk->visitor;
    if (visitor->refuse) {
        visitor->refuse(visitor->self, why);
    }
}

static void tell_damage(struct reader *reader, struct archive *archive)
{
    const char *why = archive_error_string(archive);
    la_int64_t offset = archive_filter_bytes(archive, 0);
    char text[200];
    snprintf(text, sizeof(text), "%s", why && *why ? why : "the data is damaged");
    text[strcspn(text, "\r\n")] = 0;
    packed_damage(reader->walk, offset > 0 ? (uint64_t)offset : 0, text);
}

/* Pass on the bytes of the current member. *ret_more false: nothing after it can be read. */
static bool give_member(struct reader *reader, struct archive *archive, bool *ret_more)
{
    la_int64_t expected = 0;
    enum packed_step wanted = PACKED_GO_ON;
    for (;;) {
        const void *data;
        size_t size;
        la_int64_t offset;
        int result = archive_read_data_block(archive, &data, &size, &offset);
        if (reader->failed) {
            return false;
        }
        if (result == ARCHIVE_EOF) {
            if (reader->walk->visitor->end) {
                reader->walk->visitor->end(reader->walk->visitor->self);
            }
            return true;
        }
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            tell_damage(reader, archive);
            *ret_more = result != ARCHIVE_FATAL;
            return true;
        }
        if (offset != expected) {
            packed_damage(reader->walk, reader->offset, "a part of the data is missing");
            return true;
        }
        expected += (la_int64_t)size;
        if (size && !packed_give(reader->walk, span_make(data, size), &wanted)) {
            return false;
        }
        if (wanted != PACKED_GO_ON) {
            *ret_more = wanted == PACKED_SKIP;
            return true;
        }
        if (result == ARCHIVE_WARN) {
            tell_damage(reader, archive);
        }
    }
}

static struct span name_of(struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);
    if (!name) {
        name = archive_entry_pathname(entry);
    }
    return name ? span_text(name) : span_make(NULL, 0);
}

static bool take_member(struct reader *reader, struct archive *archive, enum packed_kind kind,
    struct archive_entry *entry, bool *ret_more)
{
    enum packed_step wanted;
    struct span name = name_of(entry);
    if (!packed_count(reader->walk)) {
        return false;
    }
    if (archive_entry_filetype(entry) != AE_IFREG) {
        return true; /* a folder or link */
    }
    if (name.size == 0 || name.size > reader->walk->limits->max_name_bytes) {
        packed_damage(reader->walk, reader->offset,
            name.size ? "the name of a contained file is too long"
                      : "the name of a contained file is unreadable");
        return true;
    }
    wanted = reader->walk->visitor->begin(reader->walk->visitor->self, name);
    if (wanted != PACKED_GO_ON) {
        *ret_more = wanted == PACKED_SKIP;
        return true;
    }
    if (archive_entry_is_data_encrypted(entry) || archive_entry_is_metadata_encrypted(entry)) {
        refuse(reader, "is encrypted. unpack it with its password first");
        return true;
    }
    if (!is_method_read(archive, kind)) {
        char why[160];
        snprintf(why, sizeof(why), "uses an unsupported packing method: %s. unpack it first",
            archive_format_name(archive));
        refuse(reader, why);
        return true;
    }
    return give_member(reader, archive, ret_more);
}

static bool walk_members(
    struct reader *reader, struct archive *archive, enum packed_kind kind, bool *ret_any)
{
    bool more = true;
    while (more) {
        struct archive_entry *entry;
        int result = archive_read_next_header(archive, &entry);
        reader->began = true;
        if (reader->failed) {
            return false;
        }
        if (result == ARCHIVE_EOF) {
            *ret_any = true;
            return true;
        }
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
            if (*ret_any) {
                tell_damage(reader, archive);
            }
            return true;
        }
        *ret_any = true;
        if (!take_member(reader, archive, kind, entry, &more)) {
            return false;
        }
    }
    return true;
}

/* *ret_any false: libarchive does not recognise the format that ${support} enables. */
static bool walk_with(
    struct reader *reader, int (*support)(struct archive *), enum packed_kind kind, bool *ret_any)
{
    struct archive *archive = archive_read_new();
    *ret_any = false;
    if (!archive) {
        return error_set(
            reader->walk->err, ERR_MEMORY, "%s: out of memory", reader->walk->bytes->path);
    }
    reader->offset = 0;
    reader->began = false;
    reader->list_bytes = 0;
    support(archive);
    archive_read_set_read_callback(archive, on_read);
    archive_read_set_seek_callback(archive, on_seek);
    archive_read_set_skip_callback(archive, on_skip);
    archive_read_set_callback_data(archive, reader);
    bool good = true;
    if (archive_read_open1(archive) == ARCHIVE_OK) {
        good = walk_members(reader, archive, kind, ret_any);
    }
    good = good && !reader->failed;
    archive_read_free(archive);
    return good;
}

bool packed_archive_walk(struct packed_walk *walk, enum packed_kind kind)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    struct plat_locale locale;
    bool any = false;
    if (!reader) {
        return error_set(walk->err, ERR_MEMORY, "%s: out of memory", walk->bytes->path);
    }
    plat_locale_begin(&locale);
    reader->walk = walk;
    bool good = kind == PACKED_CAB
                    ? walk_with(reader, archive_read_support_format_cab, kind, &any)
                    : walk_with(reader, archive_read_support_format_zip_seekable, kind, &any);
    if (good && !any && kind == PACKED_ZIP) {
        packed_damage(
            walk, walk->bytes->size, "the list of files at the end of the zip is missing");
        good = walk_with(reader, archive_read_support_format_zip_streamable, kind, &any);
    }
    if (good && !any) {
        packed_damage(walk, 0, "the beginning of the archive is damaged");
    }
    plat_locale_end(&locale);
    free(reader);
    return good;
}

const char *packed_archive_version(void)
{
    static const char name[] = "libarchive ";
    const char *text = archive_version_string();
    return strncmp(text, name, sizeof(name) - 1) == 0 ? text + sizeof(name) - 1 : text;
}

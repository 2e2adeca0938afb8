#include "schema/wpp/pdb.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/reader.h"
#include "platform/plat_file.h"

/*
 * Reads only what leads to annotations: the info stream for one flag, the list of modules, and the
 * symbols of each module through a window larger than any record. Streams of a valid file share no
 * block, so the symbols of all modules are no larger than the file. A hostile file could claim more
 * to keep the reader busy; reading stops when the claim exceeds the file.
 */
enum {
    STREAM_INFO = 1,
    INFO_HEADER_BYTES = 28, /* version, signature, age, GUID */
    MAX_INFO_BYTES = 1 << 20,
    FEATURE_FASTLINK = 0x494e494d, /* "MINI" */

    STREAM_DBI = 3,
    DBI_HEADER_BYTES = 64,
    DBI_VERSION = 4,
    DBI_VERSION_60 = 19970606, /* Visual C++ 6; later versions have the same modules */
    DBI_MODULES_BYTES = 24,
    DBI_FLAGS = 56,
    DBI_FLAG_STRIPPED = 2,
    MAX_MODULES_BYTES = 64 * 1024 * 1024,

    WINDOW_BYTES = 1 << 20,
    RECORD_HEAD_BYTES = 4, /* size without itself, kind */
    SIGNATURE_C13 = 4,
    S_ANNOTATION = 0x1019,
    S_LPROC32 = 0x110f,
    S_GPROC32 = 0x1110,
    S_LPROC32_ID = 0x1146,
    S_GPROC32_ID = 0x1147,
    S_LPROC32_DPC = 0x1155,
    S_LPROC32_DPC_ID = 0x1156,
    PROC_NAME = 35, /* offset after the head */
    MAX_MODULE_NAME_BYTES = 255,
};

static const uint32_t dbi_signature = 0xffffffff;

struct module {
    uint32_t stream;
    uint32_t size; /* bytes of symbols at the start of the stream */
};

struct walk {
    struct msf msf;
    const char *kind;
    const char *origin;
    const struct pdb_sink *sink;
    struct pdb_about *about;
    uint64_t budget; /* bytes of symbols that may still be read */
    size_t warnings;
    bool stopped;

    /* The current module. */
    struct module module;
    char module_name[MAX_MODULE_NAME_BYTES + 1];
    uint8_t function[PDB_MAX_NAME_BYTES];
    size_t function_size;
    uint8_t *window; /* WINDOW_BYTES */
    uint32_t window_offset;
    uint32_t window_size;
    struct span strings[PDB_MAX_STRINGS];
};

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn(struct walk *walk, const char *text)
{
    if (walk->sink->warn && walk->warnings < PDB_MAX_WARNINGS) {
        walk->sink->warn(walk->sink->self, text);
    }
    walk->warnings++;
}

/* Warn about a malformed item at ${offset} of the current module's symbols. */
static void warn_damage(struct walk *walk, uint32_t offset, const char *what, const char *and_so)
{
    char text[1200];
    snprintf(text, sizeof(text), "%s(%s):%lu: %s: %s", walk->origin, walk->module_name,
        (unsigned long)offset, what, and_so);
    walk->about->damaged++;
    warn(walk, text);
}

static const char rest_is_skipped[] = "the rest of this module is skipped";

/* ---- symbols --------------------------------------------------------------------------------- */

/* Read ${size} bytes at ${offset} of the module's symbols, which must contain them. NULL with
 * ${err} set on failure. Valid until the next call. */
static const uint8_t *symbols_at(
    struct walk *walk, uint32_t offset, uint32_t size, struct error *err)
{
    if (offset < walk->window_offset || offset - walk->window_offset > walk->window_size ||
        size > walk->window_size - (offset - walk->window_offset)) {
        uint32_t left = walk->module.size - offset;
        walk->window_size = 0;
        left = left < WINDOW_BYTES ? left : WINDOW_BYTES;
        if (!msf_read(&walk->msf, walk->module.stream, offset, walk->window, left, err)) {
            return NULL;
        }
        walk->window_offset = offset;
        walk->window_size = left;
    }
    return walk->window + (offset - walk->window_offset);
}

static void take_function(struct walk *walk, struct span record)
{
    struct reader r = reader_make(record);
    reader_skip(&r, PROC_NAME);
    struct span name = span_first(reader_text(&r), PDB_MAX_NAME_BYTES);
    walk->function_size = name.size;
    if (name.size) {
        memcpy(walk->function, name.data, name.size);
    }
}

static void take_annotation(struct walk *walk, uint32_t offset, struct span record)
{
    struct reader r = reader_make(record);
    reader_skip(&r, 6); /* address in the code */
    size_t count = reader_u16(&r);
    struct span first = count ? reader_text(&r) : span_make(NULL, 0);
    if (!r.failed && !span_is(first, walk->kind)) {
        return;
    }
    if (count > PDB_MAX_STRINGS) {
        warn_damage(walk, offset, "an annotation has too many strings", "skipped");
        return;
    }
    walk->strings[0] = first;
    for (size_t i = 1; i < count; i++) {
        walk->strings[i] = reader_text(&r);
    }
    if (r.failed) {
        warn_damage(walk, offset, "an annotation is truncated", "skipped");
        return;
    }
    const struct pdb_annotation annotation = {.module = walk->module_name,
        .offset = offset,
        .function = span_make(walk->function, walk->function_size),
        .strings = walk->strings,
        .count = count};
    walk->about->annotations++;
    walk->stopped = !walk->sink->annotation(walk->sink->self, &annotation);
}

static void take_record(struct walk *walk, uint32_t offset, uint16_t kind, struct span record)
{
    switch (kind) {
    case S_ANNOTATION:
        take_annotation(walk, offset, record);
        break;
    case S_LPROC32:
    case S_GPROC32:
    case S_LPROC32_ID:
    case S_GPROC32_ID:
    case S_LPROC32_DPC:
    case S_LPROC32_DPC_ID:
        take_function(walk, record);
        break;
    default:
        break;
    }
}

/* Size of the record at ${offset} including its head; 0, with a warning, if it is damaged. */
static uint32_t take_record_at(struct walk *walk, uint32_t offset)
{
    struct error err = {0};
    uint32_t left = walk->module.size - offset;
    const uint8_t *bytes = left < RECORD_HEAD_BYTES
                               ? NULL
                               : symbols_at(walk, offset, RECORD_HEAD_BYTES, &err);
    if (!bytes) {
        warn_damage(walk, offset, left < RECORD_HEAD_BYTES ? "a truncated record" : err.text,
            rest_is_skipped);
        return 0;
    }
    uint32_t size = load_le16(bytes) + 2u;
    uint16_t kind = load_le16(bytes + 2);
    if (size < RECORD_HEAD_BYTES || size > left) {
        warn_damage(walk, offset,
            size > left ? "a record ends after the symbols" : "a record has no kind",
            rest_is_skipped);
        return 0;
    }
    bytes = symbols_at(walk, offset, size, &err);
    if (!bytes) {
        warn_damage(walk, offset, err.text, rest_is_skipped);
        return 0;
    }
    take_record(walk, offset, kind, span_make(bytes + RECORD_HEAD_BYTES, size - RECORD_HEAD_BYTES));
    return size;
}

static void walk_module(struct walk *walk)
{
    struct error err = {0};
    walk->window_size = 0;
    walk->function_size = 0;
    if (walk->module.size > msf_stream_size(&walk->msf, walk->module.stream) ||
        walk->module.size < RECORD_HEAD_BYTES) {
        warn_damage(walk, 0, "its stream is smaller than its symbols", "skipped");
        return;
    }
    if (walk->module.size > walk->budget) {
        warn_damage(walk, 0, "its modules are larger than the file", "skipped");
        return;
    }
    walk->budget -= walk->module.size;
    const uint8_t *signature = symbols_at(walk, 0, RECORD_HEAD_BYTES, &err);
    if (!signature || load_le32(signature) != SIGNATURE_C13) {
        warn_damage(
            walk, 0, signature ? "its symbols have an unknown version" : err.text, "skipped");
        return;
    }
    uint32_t offset = RECORD_HEAD_BYTES;
    while (offset < walk->module.size && !walk->stopped) {
        uint32_t size = take_record_at(walk, offset);
        if (size == 0) {
            break;
        }
        offset += size;
    }
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Sanitised, because warnings reach terminals. */
static void keep_module_name(struct walk *walk, struct span name)
{
    size_t size = name.size < MAX_MODULE_NAME_BYTES ? name.size : MAX_MODULE_NAME_BYTES;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = name.data[i];
        walk->module_name[i] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    walk->module_name[size] = '\0';
}

static void walk_modules(struct walk *walk, struct span list)
{
    enum { STREAM_AT = 34, BETWEEN = 24, NO_STREAM = 0xffff, ALIGNMENT = 4 };
    struct reader r = reader_make(list);
    while (reader_left(&r) && !walk->stopped) {
        size_t at = list.size - reader_left(&r);
        reader_skip(&r, STREAM_AT);
        walk->module.stream = reader_u16(&r);
        walk->module.size = reader_u32(&r);
        reader_skip(&r, BETWEEN);
        keep_module_name(walk, reader_text(&r));
        reader_text(&r); /* library or object file it came from */
        if (r.failed) {
            char text[1200];
            snprintf(text, sizeof(text),
                "%s: its list of modules is damaged at byte %zu of %zu; the rest is skipped",
                walk->origin, at, list.size);
            walk->about->damaged++;
            warn(walk, text);
            return;
        }
        size_t past = (list.size - reader_left(&r)) % ALIGNMENT;
        size_t padding = past ? ALIGNMENT - past : 0;
        reader_skip(&r, padding < reader_left(&r) ? padding : reader_left(&r));
        walk->about->modules++;
        if (walk->module.stream != NO_STREAM && walk->module.size) {
            walk->about->with_symbols++;
            walk_module(walk);
        }
    }
}

/* Read the list of modules, which follows the header of the DBI stream. */
static bool read_modules(struct walk *walk, struct error *err)
{
    uint8_t header[DBI_HEADER_BYTES];
    if (msf_stream_size(&walk->msf, STREAM_DBI) == 0) {
        return true; /* a PDB file of a compiler */
    }
    if (!msf_read(&walk->msf, STREAM_DBI, 0, header, sizeof(header), err)) {
        return false;
    }
    if (load_le32(header) != dbi_signature || load_le32(header + DBI_VERSION) < DBI_VERSION_60) {
        return error_set(err, ERR_UNSUPPORTED, "its list of modules (DBI) has an unknown version");
    }
    walk->about->is_stripped = (load_le16(header + DBI_FLAGS) & DBI_FLAG_STRIPPED) != 0;
    uint32_t size = load_le32(header + DBI_MODULES_BYTES);
    if (size > MAX_MODULES_BYTES) {
        return error_set(
            err, ERR_LIMIT, "its list of modules of %lu bytes is too large", (unsigned long)size);
    }
    uint8_t *list = malloc((size_t)size + 1);
    walk->window = malloc(WINDOW_BYTES);
    bool ok = list && walk->window
                  ? msf_read(&walk->msf, STREAM_DBI, DBI_HEADER_BYTES, list, size, err)
                  : error_set(err, ERR_MEMORY, "no memory for a list of modules");
    if (ok) {
        walk_modules(walk, span_make(list, size));
    }
    free(list);
    return ok;
}

/* Feature numbers follow the map of named streams. The map is not parsed; its numbers are compared
 * as well. It would take hundreds of streams for the map to contain the number of this feature. */
static void read_features(struct walk *walk)
{
    uint32_t size = msf_stream_size(&walk->msf, STREAM_INFO);
    uint8_t *info = size > INFO_HEADER_BYTES && size <= MAX_INFO_BYTES ? malloc(size) : NULL;
    if (info && msf_read(&walk->msf, STREAM_INFO, 0, info, size, NULL)) {
        struct reader r = reader_make(span_from(span_make(info, size), INFO_HEADER_BYTES));
        reader_skip(&r, reader_u32(&r)); /* names of streams */
        while (reader_left(&r) >= sizeof(uint32_t) && !r.failed) {
            walk->about->is_fastlink |= reader_u32(&r) == FEATURE_FASTLINK;
        }
    }
    free(info);
}

bool pdb_read(const struct msf_input *input, const char *kind, const char *origin,
    const struct pdb_sink *sink, struct pdb_about *ret_about, struct error *err)
{
    *ret_about = (struct pdb_about){.modules = 0};
    struct walk *walk = calloc(1, sizeof(*walk));
    if (!walk) {
        return error_set(err, ERR_MEMORY, "no memory for a PDB file");
    }
    walk->kind = kind;
    walk->origin = origin;
    walk->sink = sink;
    walk->about = ret_about;
    walk->budget = input->size;
    bool ok = msf_init(&walk->msf, input, err);
    if (ok) {
        read_features(walk);
        ok = read_modules(walk, err);
    }
    if (walk->warnings > PDB_MAX_WARNINGS && sink->warn) {
        char text[1200];
        snprintf(text, sizeof(text), "%s: %zu further warnings", origin,
            walk->warnings - PDB_MAX_WARNINGS);
        sink->warn(sink->self, text);
    }
    msf_fini(&walk->msf);
    free(walk->window);
    free(walk);
    return ok;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    return plat_file_read_at(self, offset, data, size, ret_read, err);
}

bool pdb_read_file(const char *path, const char *kind, const struct pdb_sink *sink,
    struct pdb_about *ret_about, struct error *err)
{
    *ret_about = (struct pdb_about){.modules = 0};
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, err);
    struct msf_input input = {.read = read_at, .self = file};
    bool ok = file && plat_file_size(file, &input.size, err) &&
              pdb_read(&input, kind, path, sink, ret_about, err);
    plat_file_close(file);
    return ok;
}

enum msf_kind pdb_file_kind(const char *path)
{
    uint8_t head[MSF_HEAD_BYTES];
    size_t got = 0;
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, NULL);
    bool ok = file && plat_file_read_at(file, 0, head, sizeof(head), &got, NULL);
    plat_file_close(file);
    return ok ? msf_kind_of(span_make(head, got)) : MSF_NONE;
}

const char *pdb_lack(const struct pdb_about *about)
{
    if (about->is_fastlink) {
        return "was linked with /DEBUG:FASTLINK, so its symbols are in the object files: link with "
               "/DEBUG:FULL";
    }
    if (about->is_stripped) {
        return "has no private symbols: they were stripped. use the PDB that the linker wrote";
    }
    if (about->modules == 0) {
        return "has no modules, like every PDB of the compiler. use the PDB that the linker wrote";
    }
    return about->with_symbols == 0 ? "has modules, but none of them has symbols" : NULL;
}

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/map.h"
#include "platform/plat_file.h"
#include "platform/plat_thread.h"
#include "schema/source/schema_files.h"
#include "schema/text/text_encoding.h"
#include "schema/wpp/pdb.h"
#include "schema/wpp/wpp.h"
#include "schema/wpp/wpp_control.h"
#include "schema/wpp/wpp_plan.h"

/*
 * WPP messages, described by trace message formats in files and folders that the user names: TMF
 * files, and annotations of PDB files, which contain the same lines. All files are read when the
 * source is created, so errors are reported then. The schema of a message is made when it is first
 * needed, under a lock because caches on several threads share the source. Nothing is kept for
 * messages without a format, because any process can send any number of them. Duplicates are not
 * kept either: folders contain many versions of one program's symbols.
 */
enum {
    MAX_FILES = 65536,
    MAX_FILE_BYTES = 64 * 1024 * 1024,
    MAX_TEXT_BYTES = 512 * 1024 * 1024,
    MAX_SCRATCH_BYTES = 256 * 1024 * 1024,
    SCRATCH_BYTES = 64 * 1024, /* for annotations of a PDB file; cleared when full */
    MAX_PLAN_BYTES = 256 * 1024 * 1024,
    MAX_MESSAGES = 4 * 1024 * 1024,
    MAX_DIFFERENCES = 20, /* reported one by one */
    MAX_LACKS = 20,       /* PDB files without symbols reported one by one */
    KEY_SIZE = 18,
};

/* A message: group and number. */
struct wpp_entry {
    uint8_t key[KEY_SIZE];
    const char *origin; /* file, or module of a PDB file, that defined it first */
    const struct tmf_message *message;
    struct event_schema *schema; /* NULL: not needed yet */
};

struct wpp_source {
    const struct schema_source_settings *settings; /* valid only during creation */
    const char *origin;                            /* of the current file */
    /* copy of `origin` in `texts`; NULL: not needed yet */
    const char *kept_origin;
    const struct tmf_message *last; /* last message kept */
    struct arena scratch;           /* for the current file */
    bool is_full;                   /* no memory for further messages */
    bool is_named; /* the user named the current file, so every problem with it is reported */
    size_t file_count;
    size_t messages; /* counts of the current file */
    size_t differences;
    size_t lacks;
    struct arena texts; /* messages with their texts, entries and origins */
    struct map entries;
    struct plat_mutex lock; /* guards everything below, and wpp_entry.schema */
    struct arena plans;
};

/* ---- files ----------------------------------------------------------------------------------- */

/* Callback of tmf_read. */
static void warn_text(void *self, const char *text)
{
    struct wpp_source *source = self;
    source->messages++;
    schema_source_warn(source->settings, text);
}

static void warn_about(const struct wpp_source *source, const char *path, const char *why)
{
    schema_files_warn(source->settings, path, why);
}

/* No further files are read once memory is full, so this is reported once. */
static void warn_of_memory(const struct wpp_source *source, const char *path)
{
    warn_about(source, path,
        source->is_full
            ? "no memory left for trace message formats; the rest of this file and further "
              "files are ignored"
            : "no memory left to read its trace message formats");
}

static void make_key(const struct guid *guid, uint16_t number, uint8_t key[KEY_SIZE])
{
    memcpy(key, guid->bytes, sizeof(guid->bytes));
    store_le16(key + sizeof(guid->bytes), number);
}

/* Compare two definitions except for their place in the source code: shared code is described by
 * several programs, and compilers split functions (`f'::`1'::fin$0). */
static bool are_same(const struct tmf_message *a, const struct tmf_message *b)
{
    bool same = a->argument_count == b->argument_count && a->is_cut == b->is_cut &&
                span_equal(a->format, b->format) && span_equal(a->level, b->level) &&
                span_equal(a->flags, b->flags);
    for (size_t i = 0; same && i < a->argument_count; i++) {
        const struct tmf_argument *x = &a->arguments[i];
        const struct tmf_argument *y = &b->arguments[i];
        same = x->number == y->number && span_equal(x->type, y->type) &&
               span_equal(x->expression, y->expression);
    }
    return same;
}

static void tell_difference(
    struct wpp_source *source, const struct wpp_entry *entry, const struct tmf_message *message)
{
    if (++source->differences > MAX_DIFFERENCES) {
        return;
    }
    char guid[GUID_TEXT_SIZE + 1] = "";
    guid_write(&message->guid, guid);
    char text[1200];
    snprintf(text, sizeof(text),
        "%s:%zu: message %u of %s differs from %s:%zu, which is used because it came first",
        source->origin, message->text_line, message->number, guid, entry->origin,
        entry->message->text_line);
    warn_text(source, text);
}

static void begin_origin(struct wpp_source *source, const char *origin)
{
    source->origin = origin;
    source->kept_origin = NULL;
}

static const char *keep_origin(struct wpp_source *source)
{
    struct span kept;
    if (!source->kept_origin && arena_copy(&source->texts, span_text(source->origin), &kept)) {
        source->kept_origin = (const char *)kept.data;
    }
    return source->kept_origin;
}

static bool keep_message(
    struct wpp_source *source, const uint8_t key[KEY_SIZE], const struct tmf_message *message)
{
    struct wpp_entry *entry = arena_alloc(&source->texts, sizeof(*entry));
    if (!entry) {
        return false;
    }
    memcpy(entry->key, key, KEY_SIZE);
    entry->origin = keep_origin(source);
    entry->message = tmf_message_copy(message, source->last, &source->texts);
    if (!entry->origin || !entry->message) {
        return false;
    }
    source->last = entry->message;
    return map_put(&source->entries, span_make(entry->key, KEY_SIZE), entry);
}

static bool add_message(void *self, const struct tmf_message *message)
{
    struct wpp_source *source = self;
    uint8_t key[KEY_SIZE];
    source->messages++;
    make_key(&message->guid, message->number, key);
    const struct wpp_entry *before = map_get(&source->entries, span_make(key, sizeof(key)));
    if (before) {
        if (!are_same(before->message, message)) {
            tell_difference(source, before, message);
        }
        return true;
    }
    source->is_full = !keep_message(source, key, message);
    return !source->is_full;
}

/* The limit is reported once. */
static bool has_room(struct wpp_source *source, const char *path)
{
    if (source->file_count++ == MAX_FILES) {
        warn_about(source, path,
            "too many trace message formats; this file and further files are ignored");
    }
    return source->file_count <= MAX_FILES;
}

static void take_text(struct wpp_source *source, struct span text, const char *origin)
{
    struct error err = {0};
    const struct tmf_sink sink = {.message = add_message, .warn = warn_text, .self = source};
    begin_origin(source, origin);
    if (!tmf_read(text, &source->scratch, origin, &sink, &err)) {
        warn_of_memory(source, origin);
    }
    arena_fini(&source->scratch);
}

static void load_tmf(struct wpp_source *source, const char *path)
{
    struct error err = {0};
    char *data = NULL;
    size_t size = 0;
    if (!schema_files_load(source->settings, path, MAX_FILE_BYTES, &data, &size, &err)) {
        warn_about(source, path, err.text);
        return;
    }
    source->messages = 0;
    take_text(source, span_make(data, size), path);
    if (source->messages == 0 && !source->is_full) {
        warn_about(source, path, "no trace message formats: it has no line with #typev");
    }
    schema_files_unload(source->settings, data, size);
}

/* ---- PDB files ------------------------------------------------------------------------------- */

struct pdb_load {
    struct wpp_source *source;
    const char *path;
    struct tmf_reader reader;
    struct span module; /* of the last annotation; in scratch memory, like the reader's origin */
    struct span lines[PDB_MAX_STRINGS];
};

/* Warnings about annotations name file, module and offset: "driver.pdb(main.obj):420". */
static bool enter_module(struct pdb_load *load, const char *module)
{
    struct arena *scratch = &load->source->scratch;
    size_t size = strlen(load->path) + strlen(module) + sizeof("()");
    char *origin = arena_alloc(scratch, size);
    if (!origin || !arena_copy(scratch, span_text(module), &load->module)) {
        return false;
    }
    snprintf(origin, size, "%s(%s)", load->path, module);
    load->reader.origin = origin;
    begin_origin(load->source, origin);
    return true;
}

/* Clear the scratch memory; earlier annotations are not needed any more. */
static void make_room(struct pdb_load *load)
{
    if (load->source->scratch.used_bytes > SCRATCH_BYTES) {
        load->reader.origin = load->path;
        arena_fini(&load->source->scratch);
    }
}

static bool add_annotation(void *self, const struct pdb_annotation *annotation)
{
    struct pdb_load *load = self;
    struct arena *scratch = &load->source->scratch;
    struct span function = span_make(NULL, 0);
    size_t count = annotation->count - 1; /* without "TMF:" */
    make_room(load);
    bool is_first = load->reader.origin == load->path; /* the first module may have an empty name */
    bool ok = (!is_first && span_is(load->module, annotation->module)) ||
              enter_module(load, annotation->module);
    ok = ok && text_encoding_to_utf8(annotation->function, scratch, &function);
    for (size_t i = 0; ok && i < count; i++) {
        ok = text_encoding_to_utf8(annotation->strings[1 + i], scratch, &load->lines[i]);
    }
    load->reader.failed |= !ok;
    return tmf_reader_annotation(&load->reader, load->lines, count, annotation->offset, function);
}

/* Report a file without messages. In a folder, only files that should have messages are reported,
 * up to a limit. */
static void tell_lack(struct wpp_source *source, const char *path, const struct pdb_about *about)
{
    const char *lack = pdb_lack(about);
    if (source->is_named) {
        warn_about(source, path, lack ? lack : "has no trace messages (annotations of WPP)");
    } else if ((about->is_fastlink || about->is_stripped) && ++source->lacks <= MAX_LACKS) {
        warn_about(source, path, lack);
    }
}

static void warn_of_pdb(void *self, const char *text)
{
    warn_text(((struct pdb_load *)self)->source, text);
}

static void load_pdb(struct wpp_source *source, const char *path)
{
    struct error err = {0};
    struct pdb_about about;
    struct pdb_load *load = calloc(1, sizeof(*load));
    if (!load) {
        warn_of_memory(source, path);
        return;
    }
    load->source = source;
    load->path = path;
    const struct tmf_sink messages = {.message = add_message, .warn = warn_text, .self = source};
    const struct pdb_sink sink = {.annotation = add_annotation, .warn = warn_of_pdb, .self = load};
    tmf_reader_init(&load->reader, &source->scratch, path, &messages);
    if (!pdb_read_file(path, "TMF:", &sink, &about, &err)) {
        warn_about(source, path, err.text);
    } else if (about.annotations == 0 && about.damaged == 0) {
        tell_lack(source, path, &about);
    }
    load->reader.origin = path;
    if (!tmf_reader_end(&load->reader)) {
        warn_of_memory(source, path);
    }
    arena_fini(&source->scratch);
    free(load);
}

/* ---- files and folders ----------------------------------------------------------------------- */

static const char *const tmf_endings[] = {".tmf", NULL};
static const char *const pdb_endings[] = {".pdb", NULL};
static const char *const wpp_endings[] = {".tmf", ".pdb", NULL};

/* PDB files of managed code are not MSF files ("BSJB", ECMA-335 II.24.2.1) and never have
 * messages. */
static bool is_managed_pdb(const char *path)
{
    uint8_t head[4];
    size_t got = 0;
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, NULL);
    bool good = file && plat_file_read_at(file, 0, head, sizeof(head), &got, NULL);
    plat_file_close(file);
    return good && got == sizeof(head) && memcmp(head, "BSJB", sizeof(head)) == 0;
}

/* Report a file that the user named and that no source reads. It may still have control GUIDs. */
static void tell_unknown(struct wpp_source *source, const char *path)
{
    struct wpp_controls controls;
    wpp_controls_init(&controls);
    bool good = wpp_controls_read(&controls, path, NULL) && controls.count > 0;
    wpp_controls_fini(&controls);
    if (!good) {
        warn_about(source, path,
            span_ends_nocase(span_text(path), ".tmc")
                ? "no control GUIDs of trace messages"
                : "not a file of event definitions. name a manifest, MOF text, program "
                  "file, trace message format, PDB or schema pack");
    }
}

static bool is_of_some_source(const struct wpp_source *source, const char *path)
{
    return schema_files_is_one(path, wpp_endings) ||
           (source->settings->is_read && source->settings->is_read(path));
}

static bool load_if_format(void *self, const char *path)
{
    struct wpp_source *source = self;
    if (source->is_full) {
        return false;
    }
    bool has_ending = schema_files_is_one(path, pdb_endings);
    if (schema_files_is_one(path, tmf_endings)) {
        if (has_room(source, path)) {
            load_tmf(source, path);
        }
    } else if (has_ending || source->is_named) {
        bool is_pdb = pdb_file_kind(path) != MSF_NONE;
        bool is_wanted = is_pdb || (has_ending && (source->is_named || !is_managed_pdb(path)));
        if (is_wanted && has_room(source, path)) {
            load_pdb(source, path);
        } else if (!is_pdb && !is_of_some_source(source, path)) {
            tell_unknown(source, path);
        }
    }
    return true;
}

static void wpp_destroy(void *self)
{
    struct wpp_source *source = self;
    if (source) {
        map_fini(&source->entries);
        arena_fini(&source->texts);
        arena_fini(&source->plans);
        plat_mutex_fini(&source->lock);
        free(source);
    }
}

static void *wpp_create(const struct schema_source_settings *settings, struct error *err)
{
    struct wpp_source *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for WPP schemas");
        return NULL;
    }
    source->settings = settings;
    plat_mutex_init(&source->lock);
    arena_init_in(&source->scratch, MAX_SCRATCH_BYTES, settings->budget);
    arena_init_in(&source->texts,
        settings->max_tmf_bytes ? settings->max_tmf_bytes : MAX_TEXT_BYTES, settings->budget);
    arena_init_in(&source->plans, MAX_PLAN_BYTES, settings->budget);
    map_init_in(&source->entries, MAX_MESSAGES, settings->budget);
    if (settings->tmf.size) {
        take_text(source, settings->tmf, "built in");
    }
    for (size_t i = 0; i < settings->path_count; i++) {
        const char *path = settings->paths[i];
        source->is_named = plat_path_kind(path) == PLAT_PATH_FILE;
        schema_files_walk(path, load_if_format, source, NULL);
    }
    if (source->differences > MAX_DIFFERENCES) {
        char text[120];
        snprintf(text, sizeof(text), "%zu more trace messages have conflicting definitions",
            source->differences - MAX_DIFFERENCES);
        warn_text(source, text);
    }
    if (source->lacks > MAX_LACKS) {
        char text[120];
        snprintf(
            text, sizeof(text), "%zu more PDB files lack their symbols", source->lacks - MAX_LACKS);
        warn_text(source, text);
    }
    source->settings = NULL;
    return source;
}

/* ---- schemas --------------------------------------------------------------------------------- */

/* The caller holds the lock. NULL: no memory. */
static const struct event_schema *schema_of(struct wpp_source *source, struct wpp_entry *entry)
{
    if (!entry->schema) {
        struct error err = {0};
        entry->schema = wpp_plan_make(entry->message, &source->plans, &err);
    }
    return entry->schema;
}

static void wpp_find(void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct wpp_source *source = self;
    if (record->kind != RECORD_MESSAGE) {
        return;
    }
    uint8_t key[KEY_SIZE];
    make_key(&record->provider, record->descriptor.id, key);
    struct wpp_entry *entry = map_get(&source->entries, span_make(key, sizeof(key)));
    if (entry) {
        plat_mutex_lock(&source->lock);
        schema_candidates_add(found, schema_of(source, entry));
        plat_mutex_unlock(&source->lock);
    }
}

static void wpp_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    struct wpp_source *source = self;
    const struct map_slot *slot;
    size_t cursor = 0;
    while ((slot = map_next(&source->entries, &cursor))) {
        plat_mutex_lock(&source->lock);
        const struct event_schema *schema = schema_of(source, slot->value);
        plat_mutex_unlock(&source->lock);
        if (schema) {
            each(each_self, schema);
        }
    }
}

const struct schema_source_ops schema_source_wpp = {
    .name = "wpp",
    .endings = wpp_endings,
    .shared = true,
    .create = wpp_create,
    .find = wpp_find,
    .list = wpp_list,
    .destroy = wpp_destroy,
};

/* ---- message GUIDs --------------------------------------------------------------------------- */

struct wpp_guids {
    struct arena memory;
    struct map guids; /* set of GUIDs */
};

static bool add_guid(struct wpp_guids *guids, const struct guid *guid)
{
    struct span key = span_make(guid->bytes, sizeof(guid->bytes));
    struct span copy;
    return map_get(&guids->guids, key) || (arena_copy(&guids->memory, key, &copy) &&
                                              map_put(&guids->guids, copy, (void *)copy.data));
}

struct wpp_guids *wpp_guids_read(const char *path, struct error *err)
{
    const struct schema_source_settings settings = {.paths = &path, .path_count = 1};
    struct wpp_source *source = wpp_create(&settings, err);
    struct wpp_guids *guids = source ? calloc(1, sizeof(*guids)) : NULL;
    const struct map_slot *slot;
    size_t cursor = 0;
    bool ok = guids != NULL;
    if (guids) {
        arena_init(&guids->memory, MAX_TEXT_BYTES);
        map_init(&guids->guids, MAX_MESSAGES);
    }
    while (ok && (slot = map_next(&source->entries, &cursor))) {
        const struct wpp_entry *entry = slot->value;
        ok = add_guid(guids, &entry->message->guid);
    }
    wpp_destroy(source);
    if (!ok) {
        wpp_guids_destroy(guids);
        error_set(err, ERR_MEMORY, "no memory for WPP schemas");
        return NULL;
    }
    return guids;
}

void wpp_guids_destroy(struct wpp_guids *guids)
{
    if (guids) {
        map_fini(&guids->guids);
        arena_fini(&guids->memory);
        free(guids);
    }
}

bool wpp_guids_has(const struct wpp_guids *guids, const struct guid *guid)
{
    return map_get(&guids->guids, span_make(guid->bytes, sizeof(guid->bytes))) != NULL;
}

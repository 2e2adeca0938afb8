#include "schema/wpp/wpp_control.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "schema/mof/mof_file.h"
#include "schema/source/schema_files.h"
#include "schema/text/text_encoding.h"
#include "schema/wpp/mof_control.h"
#include "schema/wpp/pdb.h"
#include "schema/wpp/tmc.h"

enum {
    MAX_BYTES = 64 * 1024 * 1024,
    MAX_FILE_BYTES = 16 * 1024 * 1024,
    MAX_NAME_BYTES = 1024,
    MAX_PATH_BYTES = 4096,
};

static const char *const tmc_endings[] = {".tmc", NULL};
static const char *const pdb_endings[] = {".pdb", NULL};
static const char *const tmf_endings[] = {".tmf", NULL};

void wpp_controls_init(struct wpp_controls *controls)
{
    *controls = (struct wpp_controls){.max_files = WPP_MAX_CONTROL_FILES};
    arena_init(&controls->arena, MAX_BYTES);
    map_init(&controls->guids, WPP_MAX_CONTROLS);
}

void wpp_controls_fini(struct wpp_controls *controls)
{
    map_fini(&controls->guids);
    arena_fini(&controls->arena);
}

struct wpp_control *wpp_controls_add(
    struct wpp_controls *controls, const struct guid *guid, struct span name)
{
    struct wpp_control *made = map_get(
        &controls->guids, span_make(guid->bytes, sizeof(guid->bytes)));
    if (made) {
        return made;
    }
    made = controls->count < WPP_MAX_CONTROLS ? arena_alloc(&controls->arena, sizeof(*made)) : NULL;
    if (!made || !arena_copy(&controls->arena, span_first(name, MAX_NAME_BYTES), &made->name)) {
        return NULL;
    }
    made->guid = *guid;
    if (!map_put(&controls->guids, span_make(made->guid.bytes, sizeof(made->guid.bytes)), made)) {
        return NULL;
    }
    if (controls->last) {
        controls->last->next = made;
    } else {
        controls->first = made;
    }
    controls->last = made;
    controls->count++;
    return made;
}

bool wpp_controls_add_flag(
    struct wpp_controls *controls, struct wpp_control *control, struct span name, uint64_t bits)
{
    struct wpp_flag *flag = &control->flags[control->flag_count];
    if (wpp_control_flag(control, name) || control->flag_count == WPP_MAX_FLAGS * 2) {
        return true;
    }
    if (!arena_copy(&controls->arena, span_first(name, MAX_NAME_BYTES), &flag->name)) {
        return false;
    }
    flag->bits = bits;
    control->flag_count++;
    return true;
}

const struct wpp_flag *wpp_control_flag(const struct wpp_control *control, struct span name)
{
    for (size_t i = 0; i < control->flag_count; i++) {
        if (span_equal_nocase(control->flags[i].name, name)) {
            return &control->flags[i];
        }
    }
    return NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool no_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, "no memory left for control GUIDs");
}

static bool read_tmc(struct wpp_controls *controls, const char *path, struct error *err)
{
    char *data;
    size_t size;
    struct span text;
    struct tmc_reader reader;
    if (!plat_file_load(path, MAX_FILE_BYTES, &data, &size, err)) {
        return false;
    }
    bool good = text_encoding_to_utf8(span_make(data, size), &controls->arena, &text);
    tmc_reader_init(&reader, controls);
    while (good && text.size && !reader.failed) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t line = end ? (size_t)(end - text.data) + 1 : text.size;
        tmc_reader_line(&reader, span_first(text, line));
        text = span_from(text, line);
    }
    good = good && tmc_reader_end(&reader);
    free(data);
    return good || no_memory(err);
}

static bool read_mof(struct wpp_controls *controls, const char *path, struct error *err)
{
    struct mof_model model;
    mof_model_init(&model, MAX_BYTES);
    model.warn = controls->warn;
    model.warn_self = controls->warn_self;
    bool good = mof_file_read(&model, path, err);
    if (good) {
        mof_model_link(&model);
        good = mof_control_find(&model, controls) || no_memory(err);
    }
    mof_model_end_warnings(&model);
    mof_model_fini(&model);
    return good;
}

struct pdb_controls {
    struct wpp_controls *controls;
    bool failed;
};

static bool take_annotation(void *self, const struct pdb_annotation *annotation)
{
    struct pdb_controls *to = self;
    struct tmc_reader reader;
    tmc_reader_init(&reader, to->controls);
    for (size_t i = 1; i < annotation->count; i++) {
        tmc_reader_line(&reader, annotation->strings[i]);
    }
    to->failed = !tmc_reader_end(&reader);
    return !to->failed;
}

static bool read_pdb(struct wpp_controls *controls, const char *path, struct error *err)
{
    struct pdb_about about;
    struct pdb_controls to = {.controls = controls};
    const struct pdb_sink sink = {.annotation = take_annotation, .self = &to};
    return pdb_read_file(path, "TMC:", &sink, &about, err) && (!to.failed || no_memory(err));
}

typedef bool read_fn(struct wpp_controls *controls, const char *path, struct error *err);

/* Reader for a file name; NULL: such files have no control GUIDs. */
static read_fn *reader_of(const char *path)
{
    return schema_files_is_one(path, mof_file_endings) ? read_mof
           : schema_files_is_one(path, tmc_endings)    ? read_tmc
           : schema_files_is_one(path, pdb_endings)    ? read_pdb
                                                       : NULL;
}

struct walk {
    struct wpp_controls *controls;
    size_t files;
};

static void warn(const struct wpp_controls *controls, const char *path, const char *why)
{
    char text[1200];
    snprintf(text, sizeof(text), "%s: %s", path, why);
    if (controls->warn) {
        controls->warn(controls->warn_self, text);
    }
}

static bool read_found(void *self, const char *path)
{
    struct walk *walk = self;
    struct error err = {0};
    read_fn *read = reader_of(path);
    if (!read) {
        return true;
    }
    if (walk->files++ == walk->controls->max_files) {
        warn(walk->controls, path, "too many files; this file and further files are ignored");
        return false;
    }
    if (!read(walk->controls, path, &err)) {
        warn(walk->controls, path, err.text);
    }
    return true;
}

/* tracepdb writes .tmf files and the corresponding .mof or .tmc file into one folder. */
static bool read_beside(struct wpp_controls *controls, const char *path, struct error *err)
{
    char pattern[MAX_PATH_BYTES];
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] != '/' && path[size - 1] != '\\') {
        size--;
    }
    if (size + 1 >= sizeof(pattern)) {
        return error_set(err, ERR_LIMIT, "the path is too long");
    }
    snprintf(pattern, sizeof(pattern), "%.*s*", (int)size, path);
    struct walk walk = {.controls = controls};
    struct error nothing; /* a folder without other files is no error */
    plat_glob(pattern, read_found, &walk, &nothing);
    return true;
}

bool wpp_controls_read(struct wpp_controls *controls, const char *path, struct error *err)
{
    struct walk walk = {.controls = controls};
    struct error nothing; /* an empty folder is no error */
    read_fn *read = reader_of(path);
    switch (plat_path_kind(path)) {
    case PLAT_PATH_DIR:
        schema_files_walk(path, read_found, &walk, &nothing);
        return true;
    case PLAT_PATH_FILE:
        return schema_files_is_one(path, tmf_endings) ? read_beside(controls, path, err)
                                                      : !read || read(controls, path, err);
    default:
        return error_set(err, ERR_MISSING, "there is no such file or folder");
    }
}

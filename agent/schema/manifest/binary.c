#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "platform/plat_file.h"
#include "schema/binary/parameter_files.h"
#include "schema/binary/pe_resources.h"
#include "schema/manifest/manifest_binary.h"
#include "schema/manifest/manifest_set.h"
#include "schema/source/schema_files.h"
#include "schema/text/languages.h"

/*
 * Compiled manifests in program files (.dll, .exe, .sys, .mui). The user names the files, or
 * folders that hold them; all are read when the source is created. Texts come from the message
 * table of the file itself, or from its .mui file, which lies beside it or in a language folder
 * there: "x.dll" and "en-US/x.dll.mui". One language is taken for all texts of a program
 * (languages.h). Files without a manifest may have the texts of parameters (parameter_files.h).
 *
 * A folder may be a copy of a whole Windows. Of a file without a manifest only a few hundred bytes
 * are read, of the others only the resources.
 */
enum {
    MAX_FILE_MEMORY = 512 * 1024 * 1024,
    MAX_TABLE_BYTES = 64 * 1024 * 1024,
    MAX_PATH_MEMORY = 64 * 1024 * 1024,
    MAX_PATHS = 1 << 20,
    MAX_TABLES = 2, /* the program's own and that of its .mui */
};

struct path {
    const char *text;
    struct path *next; /* next program of this name */
};

/* The files that one setting names. */
struct binary_search {
    const struct schema_source_settings *settings;
    struct manifest_set *set;
    bool is_named; /* the user named the current file, so every problem with it is reported */
    struct arena paths;
    struct map muis; /* name in lower case -> struct path */
    struct path *programs;
    struct path *last_program;
};

struct program {
    const char *path;
    struct plat_file *file;
    struct pe_resources resources;
};

struct texts {
    struct message_table tables[MAX_TABLES];
    uint8_t *data[MAX_TABLES];
    size_t sizes[MAX_TABLES];
    size_t count;
    uint16_t language; /* LANGID; 0: unknown */
};

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const program_endings[] = {".dll", ".exe", ".sys", ".mui", NULL};

static bool is_program(const char *path)
{
    return schema_files_is_one(path, program_endings);
}

static struct span name_of(struct span path)
{
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '/' && path.data[at - 1] != '\\') {
        at--;
    }
    return span_from(path, at);
}

/* Folder of the file at ${path}: "." for a bare name. A root keeps its separator. */
static struct span folder_of(struct span path)
{
    size_t size = path.size - name_of(path).size;
    if (size == 0) {
        return span_text(".");
    }
    struct span folder = span_first(path, size - 1);
    bool is_root = folder.size == 0 || span_ends_nocase(folder, ":");
    return is_root ? span_first(path, size) : folder;
}

/* Lower-case name of ${path} plus ${ending}, in the arena of paths. Empty if the arena is full. */
static struct span lower_name(struct binary_search *search, struct span path, const char *ending)
{
    struct span name = name_of(path);
    size_t ending_size = strlen(ending);
    uint8_t *text = arena_alloc(&search->paths, name.size + ending_size + 1);
    if (!text) {
        return span_make(NULL, 0);
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        text[i] = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
    }
    memcpy(text + name.size, ending, ending_size);
    return span_make(text, name.size + ending_size);
}

static struct span wanted_tag(const struct binary_search *search)
{
    return span_text(search->settings->language);
}

static unsigned rank_of(const struct binary_search *search, uint16_t language)
{
    return languages_rank(languages_id(wanted_tag(search)), language);
}

/* Get the language of ${mui} from the name of its folder, which is below ${folder}; empty: ${mui}
 * is in ${folder} itself. False: it is elsewhere. */
static bool language_of_mui(struct span mui, struct span folder, struct span *ret_tag)
{
    struct span own = folder_of(mui);
    bool is_beside = span_equal(own, folder);
    *ret_tag = is_beside ? span_make(NULL, 0) : name_of(own);
    return is_beside || span_equal(folder_of(own), folder);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct path *keep_path(struct binary_search *search, const char *text)
{
    struct path *path = arena_alloc(&search->paths, sizeof(*path));
    struct span copy;
    if (!path || !arena_copy(&search->paths, span_text(text), &copy)) {
        return NULL;
    }
    path->text = (const char *)copy.data;
    return path;
}

static bool add_mui(struct binary_search *search, const char *text)
{
    struct path *path = keep_path(search, text);
    struct span name = path ? lower_name(search, span_text(text), "") : span_make(NULL, 0);
    struct path *first = name.size ? map_get(&search->muis, name) : NULL;
    if (first) {
        path->next = first->next;
        first->next = path;
        return true;
    }
    return name.size && map_put(&search->muis, name, path);
}

static bool add_program(struct binary_search *search, const char *text)
{
    struct path *path = keep_path(search, text);
    if (!path) {
        return false;
    }
    if (search->last_program) {
        search->last_program->next = path;
    } else {
        search->programs = path;
    }
    search->last_program = path;
    return true;
}

/* Callback of plat_glob. */
static bool add_path(void *self, const char *path)
{
    struct binary_search *search = self;
    if (!is_program(path)) {
        return true;
    }
    bool ok = add_program(search, path) &&
              (!span_ends_nocase(span_text(path), ".mui") || add_mui(search, path));
    if (!ok) {
        schema_files_warn(
            search->settings, path, "too many files: this and further ones are not read");
    }
    return ok;
}

struct folder {
    struct binary_search *search;
    const char *path;
};

/* False if ${path} is too small. */
static bool join(const struct folder *folder, const char *name, char *path, size_t bytes)
{
    bool is_root = name_of(span_text(folder->path)).size == 0;
    return (size_t)snprintf(path, bytes, "%s%s%s", folder->path, is_root ? "" : "/", name) < bytes;
}

static bool add_file_if_mui(void *self, const char *name)
{
    const struct folder *folder = self;
    char path[1024];
    if (span_ends_nocase(span_text(name), ".mui") && join(folder, name, path, sizeof(path))) {
        add_mui(folder->search, path);
    }
    return true;
}

static bool add_muis_of_folder(void *self, const char *name)
{
    const struct folder *above = self;
    char path[1024];
    struct folder folder = {.search = above->search, .path = path};
    if (join(above, name, path, sizeof(path))) {
        plat_dir_files(path, add_file_if_mui, &folder, NULL);
    }
    return true;
}

/* Collect the .mui files that may belong to a program in the folder of ${path}. */
static void add_muis_around(struct binary_search *search, const char *path)
{
    struct span folder = folder_of(span_text(path));
    char text[1024];
    if (folder.size >= sizeof(text)) {
        return;
    }
    snprintf(text, sizeof(text), "%.*s", SPAN_ARG(folder));
    struct folder around = {.search = search, .path = text};
    plat_dir_files(text, add_file_if_mui, &around, NULL);
    plat_dir_folders(text, add_muis_of_folder, &around, NULL);
}

/* ---- resources ------------------------------------------------------------------------------- */

static bool read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    return plat_file_read_at(self, offset, data, size, ret_read, err);
}

/* False with ${err} set; ERR_MISSING: not a program file. */
static bool open_program(struct program *program, const char *path, struct error *err)
{
    program->path = path;
    program->file = plat_file_open(path, PLAT_FILE_READ, err);
    if (!program->file) {
        return false;
    }
    const struct pe_input input = {.read = read_at, .self = program->file};
    return pe_resources_find(&input, &program->resources, err);
}

/* First resource of ${type} in the best language, or NULL. */
static const struct pe_resource *best_of(const struct binary_search *search,
    const struct pe_resources *resources, enum pe_resource_type type)
{
    const struct pe_resource *best = NULL;
    for (size_t i = 0; i < resources->count; i++) {
        const struct pe_resource *at = &resources->list[i];
        if (at->type == type &&
            (!best || rank_of(search, at->language) < rank_of(search, best->language))) {
            best = at;
        }
    }
    return best;
}

/* Read the bytes of ${resource}; the caller frees them with unload(). NULL with ${err} set on
 * failure. */
static uint8_t *load(const struct binary_search *search, const struct program *program,
    const struct pe_resource *resource, size_t max_bytes, struct error *err)
{
    struct arena_budget *budget = search->settings->budget;
    if (resource->size > max_bytes) {
        error_set(err, ERR_LIMIT, "a resource is larger than %zu MB", max_bytes >> 20);
        return NULL;
    }
    uint64_t file_size = 0;
    if (!plat_file_size(program->file, &file_size, err)) {
        return NULL;
    }
    if (resource->offset > file_size || resource->size > file_size - resource->offset) {
        error_set(err, ERR_FORMAT, "the file ends before the resource that it points to");
        return NULL;
    }
    if (!arena_budget_take(budget, resource->size)) {
        error_set(err, ERR_LIMIT, "not enough memory is left for definitions");
        return NULL;
    }
    uint8_t *data = malloc((size_t)resource->size + 1);
    size_t got = 0;
    if (!data) {
        error_set(err, ERR_MEMORY, "no memory for a resource");
    } else if (!plat_file_read_at(
                   program->file, resource->offset, data, resource->size, &got, err)) {
        free(data);
        data = NULL;
    } else if (got < resource->size) {
        error_set(err, ERR_FORMAT, "the file ends before the resource that it points to");
        free(data);
        data = NULL;
    }
    if (!data) {
        arena_budget_give(budget, resource->size);
    }
    return data;
}

static void unload(const struct binary_search *search, uint8_t *data, size_t size)
{
    if (data) {
        arena_budget_give(search->settings->budget, size);
        free(data);
    }
}

/* Add a table, unless what was added before is in another language. */
static void add_table(struct binary_search *search, const struct program *program,
    const struct pe_resource *resource, uint16_t language, struct texts *texts)
{
    struct error err = {0};
    if (texts->count && !languages_go_together(texts->language, language)) {
        return;
    }
    uint8_t *data = load(search, program, resource, MAX_TABLE_BYTES, &err);
    struct message_table *table = &texts->tables[texts->count];
    if (data && message_table_init(table, span_make(data, resource->size), &err)) {
        texts->sizes[texts->count] = resource->size;
        texts->data[texts->count++] = data;
        texts->language = texts->language ? texts->language : language;
        return;
    }
    schema_files_warn(search->settings, program->path, err.text);
    if (data) {
        message_table_fini(table);
        unload(search, data, resource->size);
    }
}

static void fini_texts(const struct binary_search *search, struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        message_table_fini(&texts->tables[i]);
        unload(search, texts->data[i], texts->sizes[i]);
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Best .mui of the program at ${path}, or NULL. Among equal ranks the first in byte order. */
static const char *find_mui(struct binary_search *search, const char *path, struct span *ret_tag)
{
    struct span program = span_text(path);
    struct span name = lower_name(search, program, ".mui");
    const char *best = NULL;
    unsigned best_rank = 0;
    const struct path *at = name.size ? map_get(&search->muis, name) : NULL;
    for (; at; at = at->next) {
        struct span tag;
        if (!language_of_mui(span_text(at->text), folder_of(program), &tag)) {
            continue;
        }
        unsigned rank = languages_rank_tag(wanted_tag(search), tag);
        if (!best || rank < best_rank || (rank == best_rank && strcmp(at->text, best) < 0)) {
            best = at->text;
            best_rank = rank;
            *ret_tag = tag;
        }
    }
    return best;
}

/* The table of a .mui file is in the language of its folder, if it does not say. */
static void add_mui_table(
    struct binary_search *search, const char *path, struct span tag, struct texts *texts)
{
    struct program *mui = calloc(1, sizeof(*mui));
    struct error err = {0};
    if (!mui) {
        return;
    }
    if (!open_program(mui, path, &err)) {
        schema_files_warn(search->settings, path, err.text);
    } else {
        const struct pe_resource *table = best_of(search, &mui->resources, PE_MESSAGE_TABLE);
        if (table) {
            uint16_t language = table->language ? table->language : languages_id(tag);
            add_table(search, mui, table, language, texts);
        }
    }
    plat_file_close(mui->file);
    free(mui);
}

/* Add the message tables of the program and of its .mui, the better language first. */
static void add_texts(
    struct binary_search *search, const struct program *program, struct texts *texts)
{
    struct span tag = {0};
    const struct pe_resource *own = best_of(search, &program->resources, PE_MESSAGE_TABLE);
    const char *mui = find_mui(search, program->path, &tag);
    bool mui_first = mui && own &&
                     languages_rank_tag(wanted_tag(search), tag) < rank_of(search, own->language);
    if (mui_first) {
        add_mui_table(search, mui, tag, texts);
    }
    if (own) {
        add_table(search, program, own, own->language, texts);
    }
    if (mui && !mui_first) {
        add_mui_table(search, mui, tag, texts);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void warn_parameters(const struct binary_search *search, const struct program *program)
{
    schema_files_warn(
        search->settings, program->path, "not enough memory is left for its texts of parameters");
}

/* The file that defines a provider also has the texts of its parameters, unless a known file has
 * them. */
static void take_own_parameters(struct binary_search *search, const struct program *program,
    const struct manifest *manifest, const struct texts *texts)
{
    const struct guid *last = NULL;
    for (size_t i = 0; i < manifest->event_count; i++) {
        const struct guid *provider = &manifest->events[i]->provider;
        if (last && guid_equal(last, provider)) {
            continue;
        }
        last = provider;
        if (!parameter_files_add_own(
                search->set->parameters, provider, texts->language, texts->tables, texts->count)) {
            warn_parameters(search, program);
            return;
        }
    }
}

static void take_manifest(struct binary_search *search, const struct program *program,
    const struct pe_resource *resource, const struct texts *texts)
{
    struct error err = {0};
    const struct manifest_options options = {
        .source = "binary",
        .file = program->path,
        .language = texts->language,
        .max_bytes = MAX_FILE_MEMORY,
        .budget = search->settings->budget,
        .warn = search->settings->warn,
        .warn_self = search->settings->warn_self,
    };
    uint8_t *data = load(search, program, resource, MANIFEST_BINARY_MAX_BYTES, &err);
    struct manifest *manifest = data ? manifest_binary_parse(span_make(data, resource->size),
                                           texts->tables, texts->count, &options, &err)
                                     : NULL;
    unload(search, data, resource->size);
    size_t before = search->set->count;
    manifest_set_add(search->set, manifest, program->path, &err);
    if (search->set->count > before) {
        take_own_parameters(search, program, manifest, texts);
    }
}

/* A program without a manifest. */
static void take_parameters(struct binary_search *search, const struct program *program)
{
    struct span path = span_text(program->path);
    if (!program->resources.is_program) {
        schema_files_warn(search->settings, program->path, "not a program file (PE)");
        return;
    }
    if (!parameter_files_is_one(path)) {
        if (search->is_named) {
            schema_files_warn(search->settings, program->path,
                "describes no events: it has no WEVT_TEMPLATE resource");
        }
        return;
    }
    struct texts texts = {.count = 0};
    add_texts(search, program, &texts);
    if (texts.count == 0) {
        schema_files_warn(search->settings, program->path,
            "no texts of parameters: found no message table in it, in its .mui file beside it or "
            "in a .mui file in a language folder there");
    }
    if (!parameter_files_add(
            search->set->parameters, path, texts.language, texts.tables, texts.count)) {
        warn_parameters(search, program);
    }
    fini_texts(search, &texts);
}

static void take_program(struct binary_search *search, const struct program *program)
{
    const struct pe_resources *resources = &program->resources;
    const struct pe_resource *best = best_of(search, resources, PE_WEVT_TEMPLATE);
    if (!best) {
        take_parameters(search, program);
        return;
    }
    struct texts texts = {.count = 0};
    add_texts(search, program, &texts);
    for (size_t i = 0; i < resources->count; i++) {
        const struct pe_resource *at = &resources->list[i];
        if (at->type == PE_WEVT_TEMPLATE && at->language == best->language) {
            take_manifest(search, program, at, &texts);
        }
    }
    fini_texts(search, &texts);
}

static void load_program(struct binary_search *search, const char *path)
{
    struct error err = {0};
    struct program *program = calloc(1, sizeof(*program));
    if (!program) {
        schema_files_warn(search->settings, path, "out of memory");
        return;
    }
    if (!open_program(program, path, &err)) {
        schema_files_warn(search->settings, path, err.text);
    } else {
        take_program(search, program);
    }
    plat_file_close(program->file);
    free(program);
}

/* ---- the source ------------------------------------------------------------------------------ */

static void load_setting(
    const struct schema_source_settings *settings, const char *path, struct manifest_set *set)
{
    enum plat_path_kind kind = plat_path_kind(path);
    struct binary_search search = {
        .settings = settings, .set = set, .is_named = kind == PLAT_PATH_FILE};
    arena_init(&search.paths, MAX_PATH_MEMORY);
    map_init(&search.muis, MAX_PATHS);
    if (kind == PLAT_PATH_DIR) {
        schema_files_walk(path, add_path, &search, NULL);
    } else if (search.is_named && is_program(path)) {
        add_program(&search, path);
        add_muis_around(&search, path);
    }
    for (const struct path *at = search.programs; at && manifest_set_has_room(set, at->text);
         at = at->next) {
        load_program(&search, at->text);
    }
    map_fini(&search.muis);
    arena_fini(&search.paths);
}

/* Files with other endings belong to other sources, which also report missing files. */
static void *binary_create(const struct schema_source_settings *settings, struct error *err)
{
    struct manifest_set *set = manifest_set_create(settings, err);
    if (set && !(set->parameters = parameter_files_create(settings->budget))) {
        error_set(err, ERR_MEMORY, "no memory for texts of parameters");
        manifest_set_destroy(set);
        return NULL;
    }
    for (size_t i = 0; set && i < settings->path_count; i++) {
        set->group = i;
        load_setting(settings, settings->paths[i], set);
    }
    if (set) {
        set->settings = NULL;
    }
    return set;
}

static const struct schema_parameters *binary_parameters(
    const void *self, const struct guid *provider, struct span name)
{
    const struct manifest_set *set = self;
    return parameter_files_find(set->parameters, provider, name);
}

const struct schema_source_ops schema_source_binary = {
    .name = "binary",
    .endings = program_endings,
    .shared = true,
    .create = binary_create,
    .find = manifest_set_find,
    .parameters = binary_parameters,
    .list = manifest_set_list,
    .destroy = manifest_set_destroy,
};

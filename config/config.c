#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config_bind.h"
#include "config/config_override.h"
#include "config/config_path.h"
#include "config/config_text.h"
#include "config/config_tree.h"
#include "config/config_walk.h"
#include "config/config_yaml.h"
#include "platform/plat_file.h"

static const char *process_env(void *self, const char *name)
{
    (void)self;
    return getenv(name);
}

struct config *config_create(config_env_fn env, void *env_self)
{
    struct config *config = calloc(1, sizeof(*config));
    if (!config) {
        return NULL;
    }
    arena_init(&config->arena, CONFIG_MAX_MEMORY_BYTES);
    config->env = env ? env : process_env;
    config->env_self = env_self;
    config->base = "";
    return config;
}

void config_destroy(struct config *config)
{
    if (config) {
        arena_fini(&config->arena);
        free(config->places);
        free(config);
    }
}

void *config_alloc(struct config *config, size_t size)
{
    return arena_alloc(&config->arena, size);
}

void config_use(struct config *config, const struct config_additions *additions)
{
    config->additions = additions;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Read a file, reporting a failure at ${node} (NULL: the file itself). The caller frees. */
static bool read_file(struct config_tree *tree, const yaml_node_t *node, const char *path,
    char **ret_text, size_t *ret_size)
{
    struct error err;
    if (plat_file_load(path, CONFIG_MAX_FILE_BYTES, ret_text, ret_size, &err)) {
        return true;
    }
    char text[sizeof(err.text) + 64];
    if (plat_path_kind(path) == PLAT_PATH_DIR) {
        snprintf(text, sizeof(text), "include: %.400s is a folder. name files, as in FOLDER/*.yaml",
            config_text_quote(span_text(path)).text);
    } else {
        snprintf(text, sizeof(text), "include: %s", err.text);
    }
    config_tree_complain(tree, node, text);
    return false;
}

/* Files that an include key names. */
struct includes {
    struct config_tree *tree;
    int node; /* the pattern */
    const char *reserved;
};

static bool is_known(const struct config *config, const char *path)
{
    for (size_t i = 0; i < config->file_count; i++) {
        if (strcmp(config->files[i].name, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Read a file once, even if two patterns name it, or it names itself. Messages repeat lines of a
 * file. A user who checks a configuration with the rights of another account could read that
 * account's files in this way. So a file is read only if it has a name that configurations have. */
static bool include_file(void *self, const char *path)
{
    struct includes *includes = self;
    struct config_tree *tree = includes->tree;
    const yaml_node_t *node = yaml_document_get_node(&tree->document, includes->node);
    char *text = NULL;
    size_t size = 0;
    if (is_known(tree->config, path)) {
        return true;
    }
    struct span name = span_text(path);
    if (!span_ends_nocase(name, ".yaml") && !span_ends_nocase(name, ".yml")) {
        char why[1024];
        snprintf(why, sizeof(why), "include: %.900s: names of configurations end in .yaml or .yml",
            config_text_quote(name).text);
        config_tree_complain(tree, node, why);
        return true;
    }
    if (tree->config->file_count >= CONFIG_MAX_FILES) {
        config_tree_complain(tree, node, "include: more than 255 files. merge some");
        return false;
    }
    if (read_file(tree, node, path, &text, &size)) {
        int file = config_tree_add_file(tree, path, config_path_folder(span_text(path)));
        if (file >= 0) {
            config_tree_merge(tree, file, span_make(text, size), includes->reserved);
        }
    }
    free(text);
    return !tree->failed;
}

/* Does the folder exist in which ${pattern} starts to match? */
static bool has_folder(const char *pattern)
{
    struct span fixed = config_path_folder(span_first(span_text(pattern), strcspn(pattern, "*?")));
    char folder[4096];
    if (fixed.size == 0 || fixed.size >= sizeof(folder)) {
        return true;
    }
    memcpy(folder, fixed.data, fixed.size);
    folder[fixed.size] = 0;
    return plat_path_kind(folder) != PLAT_PATH_NONE;
}

void config_remark_add(struct config *config, const yaml_node_t *node, const char *text)
{
    struct config_remark *remark = arena_alloc(&config->arena, sizeof(*remark));
    struct span copy;
    if (!remark || !arena_copy(&config->arena, span_text(text), &copy)) {
        return; /* no memory: the walk over the tree reports it */
    }
    *remark = (struct config_remark){.text = (const char *)copy.data,
        .file = config->files[config_tree_file(node)].name,
        .line = config_yaml_line(&node->start_mark),
        .column = config_yaml_column(&node->start_mark)};
    if (config->last_remark) {
        config->last_remark->next = remark;
    } else {
        config->remarks = remark;
    }
    config->last_remark = remark;
}

void config_report_remarks(const struct config *config, struct config_report *report)
{
    for (const struct config_remark *at = config->remarks; at; at = at->next) {
        config_report_add(report, at->file, at->line, at->column, "%s", at->text);
    }
}

/* A pattern that matches nothing is valid: conf.d may be empty, or not there yet. */
static void include_matches(struct includes *includes, const char *pattern)
{
    struct error err;
    bool found = has_folder(pattern) ? plat_glob(pattern, include_file, includes, &err)
                                     : error_set(&err, ERR_CONFIG, "there is no such folder");
    const yaml_node_t *node = yaml_document_get_node(&includes->tree->document, includes->node);
    if (!found && err.code == ERR_CONFIG) {
        char text[1024];
        snprintf(text, sizeof(text),
            "include: no file matches %.900s. check the pattern, or remove it",
            config_text_quote(config_yaml_text(node)).text);
        config_remark_add(includes->tree->config, node, text);
    } else if (!found) {
        config_tree_complain(includes->tree, node, err.text);
    }
}

/* A plain path is wanted. The walk over the tree reports what is no path. */
static void include_pattern(struct includes *includes)
{
    struct config *config = includes->tree->config;
    const yaml_node_t *node = yaml_document_get_node(&includes->tree->document, includes->node);
    struct buf path;
    struct buf pattern;
    buf_init(&path, CONFIG_MAX_VALUE_BYTES);
    buf_init(&pattern, 2 * CONFIG_MAX_VALUE_BYTES);
    struct error err;
    if (node->type == YAML_SCALAR_NODE &&
        config_text_expand(config_yaml_text(node), config->env, config->env_self, &path, &err) &&
        config_path_check(buf_span(&path), &err)) {
        bool wild = memchr(path.data, '*', path.size) || memchr(path.data, '?', path.size);
        config_path_join(config->files[config_tree_file(node)].base, buf_span(&path), &pattern);
        buf_add_byte(&pattern, 0);
        if (!wild && !pattern.failed) {
            include_file(includes, (const char *)pattern.data);
        } else if (!pattern.failed) {
            include_matches(includes, (const char *)pattern.data);
        }
    }
    buf_fini(&path);
    buf_fini(&pattern);
}

static void include_files(struct config_tree *tree, const char *key)
{
    const yaml_node_t *root = config_tree_root(tree);
    const yaml_node_pair_t *pair = root ? config_tree_find(tree, root, span_text(key)) : NULL;
    int list = pair ? pair->value : 0;
    struct includes includes = {.tree = tree, .reserved = key};
    for (size_t i = 0; list && !tree->failed; i++) {
        const yaml_node_t *node = yaml_document_get_node(&tree->document, list);
        if (node->type != YAML_SEQUENCE_NODE || i >= config_walk_items(node)) {
            break;
        }
        includes.node = node->data.sequence.items.start[i];
        include_pattern(&includes);
    }
}

static void *bind(struct config_tree *tree, const struct config_field *fields, size_t size)
{
    const struct config_additions *additions = tree->config->additions;
    if (additions && additions->include_key && !additions->no_include) {
        include_files(tree, additions->include_key);
    }
    for (size_t i = 0; additions && i < additions->override_count && config_tree_root(tree); i++) {
        config_override_apply(tree, "--set", additions->overrides[i]);
    }
    for (size_t i = 0; additions && i < additions->policy_count && config_tree_root(tree); i++) {
        config_override_apply(tree, "policy", additions->policies[i]);
    }
    if (tree->failed) {
        return NULL;
    }
    void *settings = config_alloc(tree->config, size);
    if (settings) {
        config_bind(tree->config, &tree->document, fields, settings, size, tree->report);
    } else {
        config_report_add(
            tree->report, tree->config->files[0].name, 0, 0, "out of memory. free some and retry");
    }
    return settings;
}

void *config_parse(struct config *config, struct span text, const char *name,
    const struct config_field *fields, size_t size, struct config_report *report)
{
    struct config_tree tree;
    if (!config_tree_init(&tree, config, name, text, report)) {
        return NULL;
    }
    void *settings = bind(&tree, fields, size);
    config_tree_fini(&tree);
    return settings;
}

void *config_load(struct config *config, const char *path, const struct config_field *fields,
    size_t size, struct config_report *report)
{
    struct error err;
    char *text = NULL;
    size_t text_size = 0;
    if (!plat_file_load(path, CONFIG_MAX_FILE_BYTES, &text, &text_size, &err)) {
        /* The texts of the platform start with the path, and so do these. */
        size_t skip = strlen(path);
        bool repeats = strncmp(err.text, path, skip) == 0 && strncmp(err.text + skip, ": ", 2) == 0;
        config_report_add(report, path, 0, 0, "%s", err.text + (repeats ? skip + 2 : 0));
        return NULL;
    }
    void *settings = config_parse(config, span_make(text, text_size), path, fields, size, report);
    free(text);
    return settings;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The first of the sorted places that begins at ${start} or after it. */
static size_t lower_bound(const struct config *config, const uint8_t *start)
{
    size_t low = 0;
    size_t high = config->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)config->places[middle].start < (uintptr_t)start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The value of ${size} bytes that was given at ${member}, else NULL. */
static const struct config_place *find_exact(
    const struct config *config, const void *member, size_t size)
{
    const struct config_place *found = NULL;
    for (size_t i = lower_bound(config, member);
         i < config->place_count && (const void *)config->places[i].start == member; i++) {
        found = config->places[i].size == size ? &config->places[i] : found;
    }
    return found;
}

/* The smallest bound value that contains ${size} bytes at ${member}; the latest of equals. */
static const struct config_place *find_around(
    const struct config *config, const void *member, size_t size)
{
    const struct config_place *found = NULL;
    uintptr_t at = (uintptr_t)member;
    for (size_t i = 0; i < config->place_count; i++) {
        const struct config_place *place = &config->places[i];
        uintptr_t start = (uintptr_t)place->start;
        bool contains = at >= start && size <= place->size && at - start <= place->size - size;
        if (contains && (!found || place->size <= found->size)) {
            found = place;
        }
    }
    return found;
}

static const struct config_place *find(const struct config *config, const void *member, size_t size)
{
    const struct config_place *place = find_exact(config, member, size);
    return place ? place : find_around(config, member, size);
}

const char *config_secret_file(const struct config *config, size_t index)
{
    return index < config->secret_file_count ? config->secret_files[index] : NULL;
}

const char *config_file_name(const struct config *config, size_t index)
{
    for (size_t i = 0; i < config->file_count; i++) {
        if (!config->files[i].is_override && index-- == 0) {
            return config->files[i].name;
        }
    }
    return NULL;
}

struct config_position config_position_of(
    const struct config *config, const void *member, size_t size)
{
    const struct config_place *place = find(config, member, size);
    return place ? place->position : (struct config_position){.file = config->files[0].name};
}

const char *config_written(const struct config *config, const void *member, size_t size)
{
    const struct config_place *place = find_exact(config, member, size);
    return place ? place->written : NULL;
}

bool config_is_flawed(const struct config *config, const void *element)
{
    bool flawed = false;
    for (size_t i = lower_bound(config, element);
         i < config->place_count && (const void *)config->places[i].start == element; i++) {
        flawed = flawed || config->places[i].flawed;
    }
    return flawed;
}

bool config_is_given(const struct config *config, const void *member, size_t size)
{
    return find_exact(config, member, size) != NULL;
}

bool config_is_flawed_at(const struct config *config, const void *member, size_t size)
{
    const struct config_place *place = find(config, member, size);
    return place && place->flawed;
}

void config_error_at(const struct config *config, const void *member, size_t size,
    struct config_report *report, const char *format, ...)
{
    if (!config_report_has_room(report)) {
        report->error_count++;
        return;
    }
    char text[CONFIG_REPORT_MAX_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct config_position position = config_position_of(config, member, size);
    config_report_add(report, position.file, position.line, position.column, "%s", text);
}

void *config_new(
    struct config *config, const struct config_field *fields, size_t size, struct error *err)
{
    void *settings = config_alloc(config, size);
    if (!settings) {
        error_set(err, ERR_MEMORY, "out of memory. free some and retry");
        return NULL;
    }
    return config_field_set_defaults(config, fields, settings, err) ? settings : NULL;
}

static bool set_list(struct config *config, const struct config_field *field,
    struct config_strings *member, const char *const *values, size_t count, struct error *err)
{
    if (!config_field_check_count(field, count, err)) {
        return false;
    }
    struct config_strings strings = {
        arena_alloc_array(&config->arena, count, sizeof(const char *)), count};
    if (!strings.items) {
        return error_set(err, ERR_MEMORY, "out of memory. free some and retry");
    }
    for (size_t i = 0; i < count; i++) {
        if (!config_field_set(config, field, span_text(values[i]), &strings.items[i], err)) {
            return false;
        }
    }
    *member = strings;
    return true;
}

bool config_set(struct config *config, const struct config_field *fields, void *settings,
    const char *key, const char *const *values, size_t count, struct error *err)
{
    const struct config_field *field = config_field_find(fields, span_text(key));
    if (!field) {
        return error_set(err, ERR_CONFIG,
            "there is no option %s. see docs/reference/configuration.md",
            config_text_quote(span_text(key)).text);
    }
    void *member = (uint8_t *)settings + field->offset;
    if (field->type == CONFIG_STRINGS || field->type == CONFIG_PATHS) {
        return set_list(config, field, member, values, count, err);
    }
    if (count != 1) {
        return error_set(err, ERR_CONFIG, "'%s' takes one value. give it once", key);
    }
    return config_field_set(config, field, span_text(values[0]), member, err);
}

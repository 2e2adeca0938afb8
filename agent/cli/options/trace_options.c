#include "cli/options/trace_options.h"

#include <stdio.h>
#include <string.h>

#include "app/config/app_loop.h"
#include "cli/options/trace_times.h"
#include "input/file/input_file.h"
#include "input/file/trace_box.h"
#include "input/registry/registry.h"
#include "platform/plat_file.h"
#include "schema/cache/schema_source_set.h"
#include "schema/wpp/pdb.h"

enum { MAX_PATHS = 1024, MAX_DAMAGE_LINES = 20 };

/* PDB files are recognised by their content, too. */
static bool is_known(const char *path)
{
    return schema_source_set_reads(path) || pdb_file_kind(path) != MSF_NONE;
}

bool trace_options_are_schemas(const char *const *paths, size_t count, int *ret_exit)
{
    for (size_t i = 0; i < count; i++) {
        enum plat_path_kind kind = plat_path_kind(paths[i]);
        if (kind == PLAT_PATH_NONE || (kind == PLAT_PATH_FILE && !is_known(paths[i]))) {
            cli_error(
                kind == PLAT_PATH_NONE
                    ? "--schema %s: there is no such file or folder"
                    : "--schema %s: a manifest ends in .man, .xml or .manifest, MOF text in "
                      ".mof or .mfl, a program file in .dll, .exe, .sys or .mui, a trace "
                      "message format in .tmf or .pdb, a schema pack in .pack, corrections of "
                      "layouts in .corrections.tsv",
                paths[i]);
            *ret_exit = EXIT_USAGE;
            return false;
        }
    }
    return true;
}

struct schema_cache *trace_options_cache(const struct cli_args *args, int *ret_exit)
{
    static bool is_told; /* `stat` makes one cache per trace from the same files */
    const char *paths[MAX_PATHS];
    struct schema_cache_settings settings = {.sources = {.paths = paths,
                                                 .language = cli_value(args, "language"),
                                                 .warn = is_told ? NULL : cli_warn},
        .no_builtin = cli_value(args, "no-builtin") != NULL,
        .only_source = cli_value(args, "schema-source")};
    settings.sources.path_count = cli_values(args, "schema", paths, MAX_PATHS);
    if (!trace_options_are_schemas(paths, settings.sources.path_count, ret_exit)) {
        return NULL;
    }
    if (settings.no_builtin && settings.only_source &&
        strcmp(settings.only_source, "builtin") == 0) {
        cli_error("--no-builtin excludes --schema-source builtin. give one of them");
        *ret_exit = EXIT_USAGE;
        return NULL;
    }
    struct error err;
    struct schema_cache *cache = schema_cache_create(&settings, &err);
    is_told = true;
    if (!cache) {
        cli_error("%s", err.text);
        *ret_exit = err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
    }
    return cache;
}

void trace_options_warn_definitions(const struct schema_cache *cache)
{
    static const struct schema_losses none;
    struct schema_losses losses = cache ? schema_cache_losses(cache) : none;
    if (schema_losses_differ(&losses, &none)) {
        char text[SCHEMA_LOSSES_TEXT_BYTES];
        schema_losses_describe(&losses, text);
        cli_warning("%s", text);
    }
}

/* Option `pointer-size` is key `pointer_size`. */
static void key_of(const char *option, char *key, size_t size)
{
    snprintf(key, size, "%s", option);
    for (char *p = key; *p; p++) {
        *p = *p == '-' ? '_' : *p;
    }
}

static bool is_key(const struct input_ops *input, const char *key)
{
    for (const struct config_field *f = input->fields; f->key; f++) {
        if (strcmp(f->key, key) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_all(const struct cli_args *args, struct config *config,
    const struct input_ops *input, void *settings, struct error *err)
{
    if (!config_set(
            config, input->fields, settings, "paths", args->operands, args->operand_count, err)) {
        return false;
    }
    for (const struct cli_option *o = args->command->options; o->name; o++) {
        const char *value = cli_value(args, o->name);
        char key[64];
        key_of(o->name, key, sizeof(key));
        if (value && is_key(input, key)) {
            value = o->argument ? value : "true";
            char time[TRACE_TIMES_TEXT_BYTES];
            if (strcmp(key, "start") == 0 || strcmp(key, "end") == 0) {
                if (!trace_times_resolve(args, key, value, time, err)) {
                    return false;
                }
                value = time;
            }
            struct error why;
            if (!config_set(config, input->fields, settings, key, &value, 1, &why)) {
                return error_set(err, why.code, "--%s: %s", o->name, why.text);
            }
        }
    }
    return true;
}

struct trace_box *trace_options_stdin(struct error *err)
{
    static struct trace_scratch scratch;
    static struct trace_box *box;
    const struct trace_box_env env = {.scratch = &scratch};
    if (!box) {
        box = trace_box_open_stdin(TRACE_OPTIONS_STDIN, &env, err);
    }
    return box;
}

static bool wants_stdin(const struct cli_args *args)
{
    for (size_t i = 0; i < args->operand_count; i++) {
        if (strcmp(args->operands[i], TRACE_OPTIONS_STDIN) == 0) {
            return true;
        }
    }
    return false;
}

void *trace_options_input(const struct cli_args *args, struct config *config,
    const struct input_ops **ret_input, int *ret_exit)
{
    const struct input_ops *input = input_registry_find("file");
    struct error err;
    void *settings = config_new(config, input->fields, input->settings_size, &err);
    static const char *const all = "all";
    if (!settings || !config_set(config, input->fields, settings, "merge", &all, 1, &err) ||
        !set_all(args, config, input, settings, &err)) {
        cli_error("%s", err.text);
        *ret_exit = EXIT_USAGE;
        return NULL;
    }
    if (wants_stdin(args)) {
        struct trace_box *box = trace_options_stdin(&err);
        if (!box) {
            cli_error("%s", err.text);
            *ret_exit = err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
            return NULL;
        }
        ((struct input_file_settings *)settings)->given = box;
    }
    *ret_input = input;
    return settings;
}

bool trace_options_spare(const struct cli_args *args, size_t first)
{
    const char *path = cli_value(args, "output");
    for (size_t i = first; path && i < args->operand_count; i++) {
        if (app_loop_is_read(args->operands[i], path)) {
            cli_error("--output: %s is one of the traces that are read. write elsewhere", path);
            return false;
        }
    }
    return true;
}

void trace_options_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    unsigned *count = self;
    if (*count < MAX_DAMAGE_LINES) {
        cli_warning("%.*s: damaged at byte %llu: %s", SPAN_ARG(trace->path),
            (unsigned long long)offset, what);
    } else if (*count == MAX_DAMAGE_LINES) {
        cli_warning("further damage is counted, not listed");
    }
    ++*count;
}

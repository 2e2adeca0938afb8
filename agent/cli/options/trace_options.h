#ifndef ETWSHIP_CLI_TRACE_OPTIONS_H
#define ETWSHIP_CLI_TRACE_OPTIONS_H

#include "cli/options/cli.h"
#include "config/config.h"
#include "input/input.h"
#include "schema/cache/schema_cache.h"

/* Common options of `dump`, `stat` and others. Errors are printed to stderr. */

/* schema_sources.def */
#define TRACE_SCHEMA_SOURCES \
    "tracelogging|eventsource|embedded|kernel|mof|manifest|binary|pack|tdh|builtin|wpp"

#define CLI_OPTION_SCHEMA                                                                       \
    {.name = "schema",                                                                          \
        .argument = "PATH",                                                                     \
        .repeated = true,                                                                       \
        .help = "Take event layouts from this manifest, MOF text, program file, trace "         \
                "message format, driver's PDB or schema pack, or from all below this "          \
                "folder (.man, .xml, .manifest; .mof, .mfl; .dll, .exe, .sys with their .mui; " \
                ".tmf; .pdb; .pack), with corrections of them (.corrections.tsv)."},            \
        {.name = "schema-source",                                                               \
            .argument = "NAME",                                                                 \
            .values = TRACE_SCHEMA_SOURCES,                                                     \
            .help =                                                                             \
                "Use this source of layouts alone: tracelogging, eventsource, embedded, "       \
                "kernel, mof, manifest, binary, pack, tdh (what this Windows knows), builtin, " \
                "wpp."},                                                                        \
        {.name = "language",                                                                    \
            .argument = "TAG",                                                                  \
            .help =                                                                             \
                "Take messages and names from --schema in this language, such as de-DE, where " \
                "files have several (default: en-US)."},                                        \
    {                                                                                           \
        .name = "no-builtin",                                                                   \
        .help = "Leave out the layouts that are built in for .NET, PowerShell and others "      \
                "(source builtin)."                                                             \
    }

/* Check every --schema. False: *ret_exit is the exit code. */
bool trace_options_are_schemas(const char *const *paths, size_t count, int *ret_exit);

/* The cache for --schema, --schema-source and --no-builtin; NULL: *ret_exit is the exit code. */
struct schema_cache *trace_options_cache(const struct cli_args *args, int *ret_exit);

/* Warn of definitions in events that ${cache} had no room for. NULL is fine. */
void trace_options_warn_definitions(const struct schema_cache *cache);

/* The operand for standard input. */
#define TRACE_OPTIONS_STDIN "-"

/* Standard input as an archive of traces. The first call reads it to its end; it lives until the
 * process ends. NULL: it cannot be read. */
struct trace_box *trace_options_stdin(struct error *err);

/* Settings of the input `file` for the operands and the options that have the names of its keys
 * (start, end, pointer-size, stack-walk, etw-file, metadata, host). Owned by ${config}. */
void *trace_options_input(const struct cli_args *args, struct config *config,
    const struct input_ops **ret_input, int *ret_exit);

/* True if --output is none of the traces in the operands from ${first} on; else prints an error. */
bool trace_options_spare(const struct cli_args *args, size_t first);

/* Print where a trace is damaged: struct trace_run_settings.damage. */
void trace_options_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what);

#endif

#ifndef ETWSHIP_CLI_TRACE_OPTIONS_H
#define ETWSHIP_CLI_TRACE_OPTIONS_H

#include "cli/options/cli.h"
#include "config/config.h"
#include "input/input.h"
#include "schema/cache/schema_cache.h"

/* What `dump`, `stat` and others make of their common options. Failures are said on stderr. */

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
    {                                                                                           \
        .name = "no-builtin",                                                                   \
        .help = "Leave out the layouts that are built in for .NET, PowerShell and others "      \
                "(source builtin)."                                                             \
    }

/* Can each of --schema be used? If not, *ret_exit says why. */
bool trace_options_are_schemas(const char *const *paths, size_t count, int *ret_exit);

/* The cache for --schema, --schema-source and --no-builtin; NULL: *ret_exit says why. */
struct schema_cache *trace_options_cache(const struct cli_args *args, int *ret_exit);

/* Say what ${cache} could not keep of the definitions that events carry, if there is anything. NULL is fine. */
void trace_options_warn_definitions(const struct schema_cache *cache);

/* What an operand stands for that is no path: standard input. */
#define TRACE_OPTIONS_STDIN "-"

/* Standard input as a box of traces; it is read at the first call, to its end, and stays until the process ends.
 * NULL: it cannot be read. */
struct trace_box *trace_options_stdin(struct error *err);

/* Settings of the input `file` for the operands and the options that have the names of its keys
 * (start, end, pointer-size, stack-walk, etw-file, metadata, host). Owned by ${config}. */
void *trace_options_input(const struct cli_args *args, struct config *config,
    const struct input_ops **ret_input, int *ret_exit);

/* Does --output leave the traces alone that the operands from ${first} on name? If it is one of them,
 * that is said. */
bool trace_options_spare(const struct cli_args *args, size_t first);

/* Say where a trace is damaged: struct session_run_settings.damage. */
void trace_options_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what);

#endif

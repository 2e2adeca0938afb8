#include <stdlib.h>

#include "app/trace/trace_census.h"
#include "app/trace/trace_run.h"
#include "cli/commands/cli_main.h"
#include "cli/completion/completion.h"
#include "cli/text/schema_list.h"
#include "etw/etw_names.h"
#include "platform/plat_file.h"

/* `etwship completion`: scripts for shells, and the names that they request. */

enum { MAX_OUTPUT_BYTES = 16 * 1024 * 1024 };

/* ---- names of providers, a line each --------------------------------------------------------- */

/* Names that do not fit on one line of a shell are left out. */
static void add_name(struct buf *out, struct span name)
{
    bool is_plain = name.size > 0;
    for (size_t i = 0; i < name.size; i++) {
        is_plain = is_plain && name.data[i] >= 0x20 && name.data[i] != 0x7f;
    }
    if (is_plain) {
        buf_add_span(out, name);
        buf_add_byte(out, '\n');
    }
}

static void add_installed(void *self, const struct etw_known_provider *provider)
{
    add_name(self, span_text(provider->name));
}

/* Providers of this Windows and built-in ones. */
static void add_known(const struct cli_args *args, struct buf *out)
{
    struct etw_names *names = etw_names_create(NULL);
    int exit_code;
    if (names) {
        etw_names_each(names, add_installed, out);
        etw_names_destroy(names);
    }
    struct schema_cache *cache = trace_options_cache(args, &exit_code);
    if (cache) {
        struct schema_list list;
        struct span last = span_make(NULL, 0);
        schema_list_init(&list, cache);
        schema_list_sort(&list);
        for (size_t i = 0; i < list.count; i++) {
            if (!span_equal(list.items[i]->provider_name, last)) {
                last = list.items[i]->provider_name;
                add_name(out, last);
            }
        }
        schema_list_fini(&list);
        schema_cache_destroy(cache);
    }
}

static void add_census(const struct trace_census *census, struct buf *out)
{
    size_t count;
    uint64_t beyond;
    const struct census_provider **rows = trace_census_providers(census, &count, &beyond);
    for (size_t i = 0; i < count; i++) {
        add_name(out, rows[i]->name);
    }
    free((void *)rows);
}

/* Providers of traces. Unreadable traces give no names and no error, as the user is typing. */
static void add_of_traces(const struct cli_args *args, struct buf *out)
{
    struct cli_args traces = *args;
    traces.operands++;
    traces.operand_count--;
    int exit_code;
    const struct input_ops *input;
    struct config *config = config_create(NULL, NULL);
    struct trace_census *census = trace_census_create();
    void *settings = config ? trace_options_input(&traces, config, &input, &exit_code) : NULL;
    struct schema_cache *cache = settings ? trace_options_cache(args, &exit_code) : NULL;
    if (census && cache) {
        struct event_observer observer = trace_census_observer(census);
        struct trace_run_settings run = {
            .input = input, .settings = settings, .cache = cache, .observer = observer};
        struct trace_result result;
        struct error err;
        if (trace_run(&run, &result, &err)) {
            add_census(census, out);
        }
    }
    schema_cache_destroy(cache);
    trace_census_destroy(census);
    config_destroy(config);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print(struct buf *out)
{
    struct error err;
    if (out->failed) {
        cli_error("out of memory");
        return EXIT_FAILED;
    }
    if (!plat_file_write(plat_file_stdout(), buf_span(out), &err) && err.code != ERR_STOPPED) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int run(const struct cli_args *args)
{
    static const struct {
        const char *name;
        void (*write)(const struct cli_command *const *commands, struct buf *out);
    } shells[] = {{"bash", completion_write_bash}, {"zsh", completion_write_zsh},
        {"powershell", completion_write_powershell}};
    struct buf out;
    bool is_shell = false;
    buf_init(&out, MAX_OUTPUT_BYTES);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(args->operands[0], shells[i].name) == 0) {
            is_shell = true;
            shells[i].write(cli_main_commands, &out);
        }
    }
    if (is_shell && args->operand_count > 1) {
        cli_error("completion: unexpected argument '%s'. one script completes all commands",
            args->operands[1]);
        buf_fini(&out);
        return EXIT_USAGE;
    }
    if (!is_shell && args->operand_count > 1) {
        add_of_traces(args, &out);
    } else if (!is_shell) {
        add_known(args, &out);
    }
    int exit_code = print(&out);
    buf_fini(&out);
    return exit_code;
}

static const struct cli_option options[] = {{.name = NULL}};

const struct cli_command cmd_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|powershell | providers [TRACE...]",
    .summary = "print a script that completes words in a shell",
    .description = "Prints a script for bash, zsh or PowerShell. It completes commands, options, "
                   "known values, files, and names of providers: those in the traces on the "
                   "command line (.etl, up to 32 MB), else those known on this machine.\nproviders "
                   "prints these names, one per line, for the scripts.",
    .options = options,
    .examples =
        "       source <(etwship completion bash)\n"
        "       etwship completion bash > ~/.local/share/bash-completion/completions/etwship\n"
        "       etwship completion zsh > ~/.zfunc/_etwship\n"
        "       etwship completion powershell | Out-String | Invoke-Expression\n",
    .verbs = "bash|zsh|powershell|providers",
    .operands = {"bash, zsh, powershell or providers", 1, SIZE_MAX},
    .run = run,
};

#include <stdio.h>

#include "cli/options/cli.h"
#include "cli/text/version_text.h"

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "As one JSON object."},
    {.name = NULL},
};
// clang-format on

enum { MAX_TEXT_BYTES = 64 * 1024 };

static int run(const struct cli_args *args)
{
    struct buf out;
    buf_init(&out, MAX_TEXT_BYTES);
    version_text_write(cli_value(args, "json") != NULL, &out);
    fwrite(out.data, 1, out.size, stdout);
    buf_fini(&out);
    return EXIT_DONE;
}

const struct cli_command cmd_version = {
    .name = "version",
    .synopsis = "[--json]",
    .summary = "print version, commit, compiler and libraries",
    .description = "Prints what this program was built from.",
    .options = options,
    .run = run,
};

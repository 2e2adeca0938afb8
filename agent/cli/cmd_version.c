#define PCRE2_CODE_UNIT_WIDTH 8

#include <expat.h>
#include <pcre2.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#include "base/utf.h"
#include "cli/cli.h"

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "As one JSON object."},
    {.name = NULL},
};
// clang-format on

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_args args;
    int exit_code;
    if (!cli_parse(command, argc, argv, &args, &exit_code)) {
        return exit_code;
    }
    XML_Expat_Version expat = XML_ExpatVersionInfo();
    unsigned xxhash = XXH_versionNumber();
    char pcre2[64] = "";
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2); /* and a date */
    pcre2[strcspn(pcre2, " ")] = '\0';
    const char *format =
        cli_value(&args, "json")
            ? "{\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"text_engine\":\"%s\","
              "\"libraries\":{\"expat\":\"%d.%d.%d\",\"libyaml\":\"%s\",\"pcre2\":\"%s\","
              "\"xxhash\":\"%u.%u.%u\","
              "\"zlib\":\"%s\"}}\n"
            : "etwship %s (%s)\ncompiler %s\ntext engine %s\nexpat %d.%d.%d, libyaml %s, PCRE2 %s, "
              "xxHash "
              "%u.%u.%u, zlib %s\n";
    printf(format, ETWSHIP_VERSION, ETWSHIP_COMMIT, COMPILER, utf_engine(), expat.major,
        expat.minor, expat.micro, yaml_get_version_string(), pcre2, xxhash / 10000,
        xxhash / 100 % 100, xxhash % 100, zlibVersion());
    cli_args_fini(&args);
    return EXIT_DONE;
}

const struct cli_command cmd_version = {
    .name = "version",
    .synopsis = "[--json]",
    .summary = "print version, commit, compiler and libraries",
    .description = "Says what this program was made of.",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};

#define PCRE2_CODE_UNIT_WIDTH 8

#include <expat.h>
#include <pcre2.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#include "base/utf.h"
#include "cli/cli.h"
#include "input/packed.h"
#include "outputs/output_libraries.h"

// clang-format off
static const struct cli_option options[] = {
    {.name = "json", .help = "As one JSON object."},
    {.name = NULL},
};
// clang-format on

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#elif defined(_MSC_VER)
#define COMPILER "MSVC " TEXT_OF(_MSC_FULL_VER)
#else
#define COMPILER "unknown"
#endif

static void print_library(
    bool json, bool first, const char *name, const char *key, const char *version)
{
    if (json) {
        printf("%s\"%s\":\"%s\"", first ? "" : ",", key, version);
    } else {
        printf("%s%s %s", first ? "" : ", ", name, version);
    }
}

static void print_libraries(bool json)
{
    char expat[40];
    char xxhash[40];
    char pcre2[64] = "";
    struct output_library outputs[OUTPUT_LIBRARIES_MAX];
    XML_Expat_Version e = XML_ExpatVersionInfo();
    unsigned x = XXH_versionNumber();
    snprintf(expat, sizeof(expat), "%d.%d.%d", e.major, e.minor, e.micro);
    snprintf(xxhash, sizeof(xxhash), "%u.%u.%u", x / 10000, x / 100 % 100, x % 100);
    pcre2_config(PCRE2_CONFIG_VERSION, pcre2); /* and a date */
    pcre2[strcspn(pcre2, " ")] = '\0';
    print_library(json, true, "expat", "expat", expat);
    if (packed_archive_version()) {
        print_library(json, false, "libarchive", "libarchive", packed_archive_version());
    }
    print_library(json, false, "libyaml", "libyaml", yaml_get_version_string());
    print_library(json, false, "PCRE2", "pcre2", pcre2);
    print_library(json, false, "SQLite", "sqlite", sqlite3_libversion());
    print_library(json, false, "xxHash", "xxhash", xxhash);
    print_library(json, false, "zlib", "zlib", zlibVersion());
    size_t count = output_libraries_list(outputs);
    for (size_t i = 0; i < count; i++) {
        print_library(json, false, outputs[i].name, outputs[i].key, outputs[i].version);
    }
}

static int run(const struct cli_args *args)
{
    bool json = cli_value(args, "json");
    printf(json
               ? "{\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"text_engine\":\"%s\","
                 "\"libraries\":{"
               : "etwship %s (%s)\ncompiler %s\ntext engine %s\n",
        ETWSHIP_VERSION, ETWSHIP_COMMIT, COMPILER, utf_engine());
    print_libraries(json);
    puts(json ? "}}" : "");
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

#define PCRE2_CODE_UNIT_WIDTH 8

#include "cli/text/version_text.h"

#include <expat.h>
#include <pcre2.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>

#include "base/utf.h"
#include "input/bytes/packed.h"
#include "outputs/output_libraries.h"

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

struct list {
    struct buf *out;
    bool json;
    bool more;
};

static void put_library(struct list *list, const char *name, const char *key, const char *version)
{
    if (list->json) {
        buf_printf(list->out, "%s\"%s\":\"%s\"", list->more ? "," : "", key, version);
    } else {
        buf_printf(list->out, "%s%s %s", list->more ? ", " : "", name, version);
    }
    list->more = true;
}

static void put_libraries(struct list *list)
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
    put_library(list, "expat", "expat", expat);
    if (packed_archive_version()) {
        put_library(list, "libarchive", "libarchive", packed_archive_version());
    }
    put_library(list, "libyaml", "libyaml", yaml_get_version_string());
    put_library(list, "PCRE2", "pcre2", pcre2);
    put_library(list, "SQLite", "sqlite", sqlite3_libversion());
    put_library(list, "xxHash", "xxhash", xxhash);
    put_library(list, "zlib", "zlib", zlibVersion());
    size_t count = output_libraries_list(outputs);
    for (size_t i = 0; i < count; i++) {
        put_library(list, outputs[i].name, outputs[i].key, outputs[i].version);
    }
}

void version_text_write(bool json, struct buf *out)
{
    struct list list = {.out = out, .json = json};
    buf_printf(out,
        json ? "{\"version\":\"%s\",\"commit\":\"%s\",\"compiler\":\"%s\",\"text_engine\":\"%s\","
               "\"libraries\":{"
             : "etwship %s (%s)\ncompiler %s\ntext engine %s\n",
        ETWSHIP_VERSION, ETWSHIP_COMMIT, COMPILER, utf_engine());
    put_libraries(&list);
    buf_add_text(out, json ? "}}\n" : "\n");
}

#include "app/install/install_config.h"

#include <string.h>

#include "base/utf.h"
#include "config/config_path.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes that YAML allows on one line (YAML 1.2.2, section 5.1), without what ends lines in older
 * versions of it and without byte order marks. */
static bool is_printable(uint32_t c)
{
    bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool ends_line = c == 0x2028 || c == 0x2029;
    return !is_control && !ends_line && c != 0xfeff && c != 0xfffe && c != 0xffff && c != 0xfffd;
}

bool install_config_quote(const char *name, const char *text, struct buf *out, struct error *err)
{
    struct span rest = span_text(text);
    for (size_t at = 0; at < rest.size;) {
        if (!is_printable(utf8_next(rest, &at))) {
            return error_set(err, ERR_CONFIG,
                "%s has a control character, or is not UTF-8: a configuration cannot hold it",
                name);
        }
    }
    buf_add_byte(out, '\'');
    for (const char *c = text; *c; c++) {
        if (*c == '\'') {
            buf_add_byte(out, '\'');
        } else if (*c == '$' && c[1] == '{') {
            buf_add_byte(out, '$');
        }
        buf_add_byte(out, (uint8_t)*c);
    }
    buf_add_byte(out, '\'');
    return true;
}

/* Errors do not quote the value: it may contain a misplaced password. */
bool install_config_check_url(const char *url, struct error *err)
{
    static const char *const schemes[] = {"https://", "http://"};
    if (strchr(url, '@')) {
        return error_set(err, ERR_CONFIG,
            "the address of the output holds a name or a password, which others can see. put an "
            "API key into a file, and name the file");
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t size = strlen(schemes[i]);
        if (span_equal_nocase(span_first(span_text(url), size), span_text(schemes[i]))) {
            return strcspn(url + size, "/?#") > 0 ||
                   error_set(err, ERR_CONFIG, "the address of the output names no host");
        }
    }
    return error_set(
        err, ERR_CONFIG, "the address of the output does not begin with https:// or http://");
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Editors of older Windows know only their own line ends. */
static void put_lines(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            buf_add_byte(out, '\r');
        }
        buf_add_byte(out, (uint8_t)*text);
    }
}

static const char head[] =
    "# The configuration of the service etwship, as its installation wrote it. No installation "
    "writes\n# it again. Change it, then, as administrator:\n#\n#   etwship check -v -c FILE       "
    "   shows what it does, and what is wrong with it\n#   etwship service stop\n#   etwship "
    "service start\nversion: 1\n\nsessions:\n  - name: first\n";

static const char off[] =
    "    enabled: false     # true: these events are read, and written to the file below\n";

static const char providers[] =
    "    providers:         # names that this machine asks for, and processes that it starts\n"
    "      - Microsoft-Windows-DNS-Client:information\n"
    "      - {name: Microsoft-Windows-Kernel-Process, keywords: {any: "
    "[WINEVENT_KEYWORD_PROCESS]}}\n"
    "\n"
    "outputs:\n";

static const char file_output[] = "  - name: events\n"
                                  "    type: file\n"
                                  "    path: '../logs/events-%Y-%m-%d.ndjson'\n"
                                  "    rotate: {size: 100MB, keep: 14, gzip: true}\n";

static bool put_server(const struct install_config *config, struct buf *out, struct error *err)
{
    put_lines(out, "  - name: siem\n    type: elasticsearch\n    format: ecs\n    hosts: [");
    if (!install_config_check_url(config->url, err) ||
        !install_config_quote("the address of the output", config->url, out, err)) {
        return false;
    }
    put_lines(out, "]\n");
    if (config->key_file) {
        char value[4096] = "file:";
        if (!config_path_is_absolute(span_text(config->key_file))) {
            return error_set(err, ERR_CONFIG,
                "'%.200s': the file of the API key needs its whole path", config->key_file);
        }
        if (strlen(config->key_file) >= sizeof(value) - strlen(value)) {
            return error_set(err, ERR_CONFIG, "the path of the file of the API key is too long");
        }
        memcpy(value + strlen(value), config->key_file, strlen(config->key_file) + 1);
        put_lines(out, "    auth:\n      api_key: ");
        if (!install_config_quote("the path of the file of the API key", value, out, err)) {
            return false;
        }
        put_lines(out, "\n");
    }
    return true;
}

bool install_config_write(const struct install_config *config, struct buf *out, struct error *err)
{
    if (config->key_file && !config->url) {
        return error_set(err, ERR_CONFIG, "an API key is for an output, whose address is missing");
    }
    put_lines(out, head);
    if (!config->url) {
        put_lines(out, off);
    }
    put_lines(out, providers);
    if (!config->url) {
        put_lines(out, file_output);
    } else if (!put_server(config, out, err)) {
        return false;
    }
    return !out->failed || error_set(err, ERR_MEMORY, "out of memory");
}

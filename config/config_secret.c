#include "config/config_secret.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text/base64.h"
#include "config/config_field.h"
#include "config/config_path.h"
#include "config/config_text.h"
#include "platform/plat_file.h"
#include "platform/plat_secret.h"

static const char file_prefix[] = "file:";
static const char dpapi_prefix[] = "dpapi:";

static bool starts_with(struct span text, const char *prefix)
{
    return span_is(span_first(text, strlen(prefix)), prefix);
}

bool config_secret_is_place(struct span text)
{
    return starts_with(text, file_prefix) || starts_with(text, dpapi_prefix);
}

static bool unprotect(struct span text, struct buf *out, struct error *err)
{
    struct buf bytes;
    struct error why;
    buf_init(&bytes, CONFIG_MAX_VALUE_BYTES);
    bool good = base64_read(span_from(text, sizeof(dpapi_prefix) - 1), &bytes);
    if (!good || bytes.size == 0) {
        error_set(err, ERR_CONFIG,
            "the text after dpapi: is not base64. write the whole output of etwship secret protect "
            "after it");
        good = false;
    } else if (!plat_secret_unprotect(buf_span(&bytes), out, &why)) {
        error_set(err, why.code == ERR_UNSUPPORTED ? ERR_CONFIG : why.code, "%s%s", why.text,
            why.code == ERR_UNSUPPORTED
                ? ""
                : ". only the machine that protected it can read it. protect the secret on this "
                  "machine with etwship secret protect");
        good = false;
    }
    buf_fini(&bytes);
    return good;
}

/* Append ${text}, or the secret that is protected in it; ${what} names it in ${err}. */
static bool add_secret(struct span text, const char *what, struct buf *out, struct error *err)
{
    if (starts_with(text, dpapi_prefix)) {
        size_t before = out->size;
        if (!unprotect(text, out, err)) {
            return false;
        }
        text = span_from(buf_span(out), before);
        what = "what dpapi: protects";
    } else {
        buf_add_span(out, text);
    }
    const char *fault = config_text_secret_fault(text);
    return !fault || error_set(err, ERR_CONFIG, "%s %s", what, fault);
}

/* The path of ${text}, owned by ${config}. NULL with ${err} set. */
static const char *find_file(struct config *config, struct span text, struct error *err)
{
    struct buf path;
    struct span copy;
    if (!config_path_check(text, err)) {
        return NULL;
    }
    if (memchr(text.data, 0, text.size)) {
        error_set(err, ERR_CONFIG, "the text holds a NUL character. remove it");
        return NULL;
    }
    buf_init(&path, 2 * CONFIG_MAX_VALUE_BYTES);
    config_path_join(config->base, text, &path);
    bool good = !path.failed && arena_copy(&config->arena, buf_span(&path), &copy);
    buf_fini(&path);
    if (!good) {
        error_set(err, ERR_MEMORY, "the configuration needs more than 64 MB of memory. shorten it");
        return NULL;
    }
    return (const char *)copy.data;
}

/* The content of the file without its last line break. */
static bool add_file(struct config *config, struct span text, struct buf *out, struct error *err)
{
    bool is_private = false;
    char *data = NULL;
    size_t size = 0;
    char what[160];
    const char *name = find_file(config, span_from(text, sizeof(file_prefix) - 1), err);
    if (!name || !plat_file_is_private(name, &is_private, err)) {
        return false;
    }
    if (config->secret_file_count == CONFIG_MAX_SECRET_FILES) {
        return error_set(err, ERR_LIMIT, "more than %d secrets are in files. remove some",
            CONFIG_MAX_SECRET_FILES);
    }
    config->secret_files[config->secret_file_count++] = name;
    snprintf(what, sizeof(what), "the file %s", config_text_quote(span_text(name)).text);
    if (!is_private) {
        return error_set(err, ERR_CONFIG,
            "%s can be read by every user of this machine. remove that right",
            config_text_quote(span_text(name)).text);
    }
    if (!plat_file_load(name, CONFIG_MAX_VALUE_BYTES, &data, &size, err)) {
        return false;
    }
    size -= size && data[size - 1] == '\n';
    size -= size && data[size - 1] == '\r';
    bool good = add_secret(span_make(data, size), what, out, err);
    free(data);
    return good;
}

bool config_secret_resolve(
    struct config *config, struct span text, struct buf *out, struct error *err)
{
    return starts_with(text, file_prefix) ? add_file(config, text, out, err)
                                          : add_secret(text, "it", out, err);
}

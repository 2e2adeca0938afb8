#include "cli/service/autologger_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/visible.h"
#include "etw/etw_api.h"
#include "etw/session/etw_control.h"
#include "event/value/value_json.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"

/* One autologger at a time: collect all facts, then print them in one of two forms. */
enum { MAX_DIFFERENCES = 200, MAX_FILES = 64 };

struct facts {
    const char *name;
    const char *session; /* NULL: not configured */
    enum etw_autologger_owner owner;
    struct buf differences; /* texts, a NUL after each */
    size_t difference_count;
    bool was_started; /* Windows has tried */
    uint32_t status;  /* then: Win32 error */
    bool can_ask;
    bool runs;
    struct etw_session_state state;
    struct buf files; /* paths, a NUL after each */
    size_t file_count;
};

/* ---- looking --------------------------------------------------------------------------------- */

static void on_difference(void *self, const char *text)
{
    struct facts *facts = self;
    if (facts->difference_count < MAX_DIFFERENCES) {
        buf_add(&facts->differences, text, strlen(text) + 1);
        facts->difference_count++;
    }
}

static bool on_file(void *self, const char *path)
{
    struct facts *facts = self;
    buf_add(&facts->files, path, strlen(path) + 1);
    facts->file_count++;
    return facts->file_count < MAX_FILES;
}

static void find_files(struct facts *facts, const char *file)
{
    char pattern[ETW_BOOT_PATH_BYTES + 8];
    if (plat_path_kind(file) == PLAT_PATH_FILE) {
        on_file(facts, file);
    }
    snprintf(pattern, sizeof(pattern), "%.4090s.00??", file);
    plat_glob(pattern, on_file, facts, NULL); /* false if there is none */
}

static void find_session(struct facts *facts)
{
    struct error why = {0};
    facts->runs = etw_control_query(facts->name, &facts->state, &why);
    facts->can_ask = facts->runs || why.os_code == ETW_ERROR_WMI_INSTANCE_NOT_FOUND;
}

static bool look(struct facts *facts, const struct etw_boot *boot, struct error *err)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    bool good = etw_autologger_read(facts->name, &tree, &facts->owner, err);
    if (good && facts->owner == ETW_AUTOLOGGER_OURS && boot) {
        etw_autologger_compare(&boot->autologger.tree, &tree, on_difference, facts);
    }
    if (good) {
        facts->was_started = etw_registry_dword(&tree, "", "Status", &facts->status);
        const struct etw_registry_value *file = etw_registry_find(&tree, "", "FileName");
        bool is_text = file && file->type == ETW_REGISTRY_TEXT; /* an arena ends texts with a NUL */
        if (boot || is_text) {
            find_files(facts, boot ? boot->file : (const char *)file->data.data);
        }
        find_session(facts);
    }
    etw_registry_fini(&tree);
    return good;
}

/* ---- telling --------------------------------------------------------------------------------- */

static const char *text_at(const struct buf *texts, size_t index)
{
    const char *text = (const char *)texts->data;
    for (; index; index--) {
        text += strlen(text) + 1;
    }
    return text;
}

static const char *install_words(const struct facts *facts)
{
    switch (facts->owner) {
    case ETW_AUTOLOGGER_ABSENT:
        return "not installed. `etwship autologger install` does it";
    case ETW_AUTOLOGGER_FOREIGN:
        return "not installed by etwship: its Guid differs";
    case ETW_AUTOLOGGER_OURS:
        break;
    }
    return !facts->session               ? "installed, but no session of the configuration wants it"
           : facts->difference_count > 0 ? "installed, but not as configured"
                                         : "installed";
}

static void put_text(const struct facts *facts, struct buf *out)
{
    visible_add(out, span_text(facts->name));
    buf_printf(out, ": %s\n", install_words(facts));
    for (size_t i = 0; i < facts->difference_count; i++) {
        buf_add_text(out, "  differs: ");
        visible_add(out, span_text(text_at(&facts->differences, i)));
        buf_add_byte(out, '\n');
    }
    if (!facts->was_started) {
        buf_add_text(out, "  last boot: Windows has not started it yet\n");
    } else if (facts->status == 0) {
        buf_add_text(out, "  last boot: started\n");
    } else {
        buf_printf(out, "  last boot: failed: %s (error %" PRIu32 ")\n",
            etw_api_reason(facts->status), facts->status);
    }
    if (!facts->runs) {
        buf_printf(out, "  session: %s\n",
            facts->can_ask ? "does not run" : "not known, as Windows does not say");
    } else if (facts->state.mode & ETW_MODE_REAL_TIME) {
        buf_add_text(out, "  session: runs, in real time\n");
    } else {
        buf_add_text(out, "  session: runs, into ");
        visible_add(out, span_text(facts->state.file));
        buf_add_byte(out, '\n');
    }
    for (size_t i = 0; i < facts->file_count; i++) {
        const char *path = text_at(&facts->files, i);
        buf_add_text(out, "  file: ");
        visible_add(out, span_text(path));
        buf_printf(out, ", %" PRIu64 " bytes\n", plat_path_stamp(path).size);
    }
}

static void put_string(const char *key, const char *text, struct buf *out)
{
    buf_printf(out, ",\"%s\":", key);
    value_json_string(span_text(text), out);
}

static void put_bool(const char *key, bool value, struct buf *out)
{
    buf_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void put_json(const struct facts *facts, struct buf *out)
{
    static const char *const owners[] = {[ETW_AUTOLOGGER_ABSENT] = "nobody",
        [ETW_AUTOLOGGER_OURS] = "etwship",
        [ETW_AUTOLOGGER_FOREIGN] = "other"};
    buf_add_text(out, "{\"name\":");
    value_json_string(span_text(facts->name), out);
    if (facts->session) {
        put_string("session", facts->session, out);
    }
    put_bool("configured", facts->session != NULL, out);
    put_bool("installed", facts->owner != ETW_AUTOLOGGER_ABSENT, out);
    put_string("owner", owners[facts->owner], out);
    buf_add_text(out, ",\"differences\":[");
    for (size_t i = 0; i < facts->difference_count; i++) {
        buf_add_text(out, i ? "," : "");
        value_json_string(span_text(text_at(&facts->differences, i)), out);
    }
    buf_add_text(out, "]");
    if (facts->was_started) {
        buf_printf(out, ",\"status\":%" PRIu32, facts->status);
        put_string("status_name", facts->status ? etw_api_reason(facts->status) : "started", out);
    }
    if (facts->can_ask) {
        put_bool("running", facts->runs, out);
    }
    if (facts->runs) {
        put_bool("real_time", (facts->state.mode & ETW_MODE_REAL_TIME) != 0, out);
    }
    buf_add_text(out, ",\"files\":[");
    for (size_t i = 0; i < facts->file_count; i++) {
        const char *path = text_at(&facts->files, i);
        buf_add_text(out, i ? ",{\"path\":" : "{\"path\":");
        value_json_string(span_text(path), out);
        buf_printf(out, ",\"bytes\":%" PRIu64 "}", plat_path_stamp(path).size);
    }
    buf_add_text(out, "]}\n");
}

bool autologger_text_status(const char *name, const char *session, const struct etw_boot *boot,
    bool json, struct buf *out, struct error *err)
{
    enum { MAX_TEXT_BYTES = 4 * 1024 * 1024 };
    struct facts *facts = calloc(1, sizeof(*facts));
    if (!facts) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    facts->name = name;
    facts->session = session;
    buf_init(&facts->differences, MAX_TEXT_BYTES);
    buf_init(&facts->files, MAX_TEXT_BYTES);
    bool good = look(facts, boot, err);
    if (good && (facts->differences.failed || facts->files.failed)) {
        good = error_set(err, ERR_MEMORY, "out of memory");
    }
    if (good && json) {
        put_json(facts, out);
    } else if (good) {
        put_text(facts, out);
    }
    buf_fini(&facts->files);
    buf_fini(&facts->differences);
    free(facts);
    return good;
}

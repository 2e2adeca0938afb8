#include "support/etw_sim/sim_boot.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/guid.h"
#include "etw/enable/etw_enable.h"
#include "etw/etw_autologger.h"
#include "etw/session/etw_control.h"

enum { FILE_BYTES = 2048, MAX_NAMES = 64 };

static uint32_t number(
    const struct etw_registry_tree *tree, const char *key, const char *name, uint32_t otherwise)
{
    etw_registry_dword(tree, key, name, &otherwise);
    return otherwise;
}

static uint64_t mask(const struct etw_registry_tree *tree, const char *key, const char *name)
{
    const struct etw_registry_value *value = etw_registry_find(tree, key, name);
    return value && value->type == ETW_REGISTRY_QWORD && value->data.size == 8
               ? load_le64(value->data.data)
               : 0;
}

/* A value that the kernel writes back. */
static void put_number(const char *session, const char *name, uint32_t value)
{
    char key[512];
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_dword(&tree, "", name, value);
    snprintf(key, sizeof(key), ETW_AUTOLOGGER_ROOT "\\%s", session);
    etw_registry_write(key, &tree, NULL);
    etw_registry_fini(&tree);
}

static void put_file(
    const char *session, const struct etw_registry_tree *tree, char file[FILE_BYTES])
{
    const struct etw_registry_value *name = etw_registry_find(tree, "", "FileName");
    uint32_t max = number(tree, "", "FileMax", 0);
    uint32_t counter = number(tree, "", "FileCounter", 0);
    if (name) {
        snprintf(file, FILE_BYTES, "%.*s", SPAN_ARG(name->data));
    } else {
        snprintf(file, FILE_BYTES, "%s.etl", session);
    }
    if (max) {
        size_t size = strlen(file);
        counter = counter < max && max <= 16 ? counter + 1 : 1;
        snprintf(file + size, FILE_BYTES - size, ".%04u", counter);
        put_number(session, "FileCounter", counter);
    }
}

static void put_ids(
    const struct etw_registry_tree *tree, const char *provider, struct etw_request *request)
{
    char key[128];
    snprintf(key, sizeof(key), "%s\\Filters", provider);
    const struct etw_registry_value *ids = etw_registry_find(tree, key, "EventIds");
    if (!ids || !number(tree, key, "Enabled", 0)) {
        return;
    }
    request->events.exclude = !number(tree, key, "EventIdFilterIn", 0);
    for (size_t i = 0; 2 * i + 1 < ids->data.size && i < ETW_MAX_FILTER_IDS; i++) {
        request->events.ids[request->events.count++] = load_le16(ids->data.data + 2 * i);
    }
}

static void enable(uint64_t session, const struct etw_registry_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        const char *key = tree->values[i].key;
        struct etw_outcome outcome;
        struct etw_request *request = calloc(1, sizeof(*request));
        bool is_provider = guid_parse(span_text(key), &request->provider) &&
                           strcmp(tree->values[i].name, "Enabled") == 0;
        if (is_provider && number(tree, key, "Enabled", 0)) {
            request->level = (uint8_t)number(tree, key, "EnableLevel", 0);
            request->any = etw_registry_find(tree, key, "EnableFlags")
                               ? number(tree, key, "EnableFlags", 0)
                               : mask(tree, key, "MatchAnyKeyword");
            request->all = mask(tree, key, "MatchAllKeyword");
            request->properties = number(tree, key, "EnableProperty", 0);
            put_ids(tree, key, request);
            etw_enable_provider(session, key, request, &outcome, NULL);
        }
        free(request);
    }
}

static bool start(const char *name, const struct etw_registry_tree *tree)
{
    char file[FILE_BYTES];
    const struct etw_registry_value *guid = etw_registry_find(tree, "", "Guid");
    const struct etw_registry_value *flags = etw_registry_find(tree, "", "EnableKernelFlags");
    struct etw_session_state state;
    struct error err = {.os_code = ETW_ERROR_INVALID_PARAMETER};
    struct etw_session_spec spec = {.name = name,
        .mode = number(tree, "", "LogFileMode", ETW_MODE_SEQUENTIAL),
        .clock = number(tree, "", "ClockType", 1),
        .buffer_kb = number(tree, "", "BufferSize", 64),
        .min_buffers = number(tree, "", "MinimumBuffers", 4),
        .flush_ms = number(tree, "", "FlushTimer", 0) * 1000,
        .max_file_size = number(tree, "", "MaxFileSize", 100)};
    spec.max_buffers = number(tree, "", "MaximumBuffers", spec.min_buffers + 20);
    if (!guid || !guid_parse(guid->data, &spec.guid) || spec.mode & ETW_MODE_NEWFILE) {
        put_number(name, "Status", ETW_ERROR_INVALID_PARAMETER);
        return false;
    }
    if (spec.mode &
        (ETW_MODE_SEQUENTIAL | ETW_MODE_CIRCULAR | ETW_MODE_APPEND | ETW_MODE_BUFFERING)) {
        put_file(name, tree, file);
        spec.file = file;
    }
    if (spec.mode & ETW_MODE_SYSTEM_LOGGER && flags && flags->data.size >= 4) {
        spec.enable_flags = load_le32(flags->data.data);
    }
    bool good = etw_control_start(&spec, &state, &err);
    put_number(name, "Status", good ? 0 : (uint32_t)err.os_code);
    if (good) {
        enable(state.handle, tree);
    }
    return good;
}

struct names {
    char name[MAX_NAMES][256];
    size_t count;
};

static bool on_name(void *self, const char *name)
{
    struct names *names = self;
    snprintf(names->name[names->count++], sizeof(names->name[0]), "%s", name);
    return names->count < MAX_NAMES;
}

unsigned sim_boot(void)
{
    struct names *names = calloc(1, sizeof(*names));
    unsigned started = 0;
    etw_registry_each(ETW_AUTOLOGGER_ROOT, on_name, names, NULL);
    for (size_t i = 0; i < names->count; i++) {
        char key[512];
        struct etw_registry_tree tree;
        etw_registry_init(&tree);
        snprintf(key, sizeof(key), ETW_AUTOLOGGER_ROOT "\\%s", names->name[i]);
        if (etw_registry_read(key, &tree, NULL) && number(&tree, "", "Start", 0) == 1) {
            started += start(names->name[i], &tree);
        }
        etw_registry_fini(&tree);
    }
    free(names);
    return started;
}

void sim_shutdown(void)
{
    struct etw_session_list list;
    if (!etw_control_list(&list, NULL)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        etw_control_stop(list.items[i].name, NULL, NULL);
    }
    etw_control_list_fini(&list);
}

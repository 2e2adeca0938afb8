#include "input/windows/etw_boot.h"

#include <stdio.h>
#include <stdlib.h>

#include "etw/enable/etw_keywords.h"
#include "input/windows/etw_plan.h"
#include "platform/plat_path.h"

/*
 * The autologger is derived from the plan of the running session, so that the agent accepts what
 * Windows starts when it takes it over. Only the destination of the events differs.
 */
static const uint64_t kb_per_mb = 1024;

bool etw_boot_file(const char *data_dir, const char *session, char ret_path[ETW_BOOT_PATH_BYTES],
    struct error *err)
{
    int size = snprintf(ret_path, ETW_BOOT_PATH_BYTES, "%s/boot/%s.etl", data_dir, session);
    return (size > 0 && size < ETW_BOOT_PATH_BYTES) ||
           error_set(err, ERR_LIMIT, "the path of the data folder is too long");
}

static bool kind_of(const char *type, enum etw_plan_kind *ret_kind)
{
    static const struct {
        const char *type;
        enum etw_plan_kind kind;
    } kinds[] = {
        {"realtime", ETW_PLAN_REALTIME}, {"system", ETW_PLAN_SYSTEM}, {"record", ETW_PLAN_RECORD}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            *ret_kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

/* ---- the session ----------------------------------------------------------------------------- */

/* Round up to whole megabytes and clear other flags: the registry value has no other unit. */
static uint32_t size_in_mb(const struct etw_session_spec *spec)
{
    bool in_kb = spec->mode & ETW_MODE_USE_KBYTES_FOR_SIZE;
    return in_kb ? (uint32_t)((spec->max_file_size + kb_per_mb - 1) / kb_per_mb)
                 : spec->max_file_size;
}

static void put_kernel_flags(struct etw_registry_tree *tree, const struct etw_groups *groups)
{
    uint8_t mask[ETW_GROUP_WORDS * 4];
    for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
        store_le32(mask + 4 * i, groups->words[i]);
    }
    etw_registry_put(
        tree, "", "EnableKernelFlags", ETW_REGISTRY_BINARY, span_make(mask, sizeof(mask)));
}

static void put_session(
    const struct etw_plan *plan, const struct etw_boot *boot, struct etw_registry_tree *tree)
{
    const struct etw_session_spec *s = &plan->session;
    char guid[ETW_AUTOLOGGER_GUID_SIZE];
    uint32_t mode = s->mode & ~(ETW_MODE_USE_MS_FLUSH_TIMER | ETW_MODE_USE_KBYTES_FOR_SIZE);
    if (boot->is_read) {
        mode = (mode & ~ETW_MODE_REAL_TIME) | ETW_MODE_SEQUENTIAL;
    }
    etw_autologger_guid(plan->name, guid);
    etw_registry_put_text(tree, "", "Guid", guid);
    etw_registry_put_dword(tree, "", "BufferSize", s->buffer_kb);
    etw_registry_put_dword(tree, "", "ClockType", s->clock);
    if (boot->is_read) {
        etw_registry_put_dword(tree, "", "FileMax", ETW_BOOT_FILES);
    }
    etw_registry_put_text(tree, "", "FileName", boot->file);
    etw_registry_put_dword(tree, "", "FlushTimer", (s->flush_ms + 999) / 1000);
    etw_registry_put_dword(tree, "", "LogFileMode", mode);
    etw_registry_put_dword(
        tree, "", "MaxFileSize", boot->is_read ? ETW_BOOT_FILE_MB : size_in_mb(s));
    etw_registry_put_dword(tree, "", "MaximumBuffers", s->max_buffers);
    etw_registry_put_dword(tree, "", "MinimumBuffers", s->min_buffers);
    if (boot->has_flags) {
        put_kernel_flags(tree, &plan->groups);
    }
}

/* ---- providers ------------------------------------------------------------------------------- */

static void put_ids(
    const struct etw_filter_ids *ids, const char *provider, struct etw_registry_tree *tree)
{
    uint8_t list[ETW_MAX_FILTER_IDS * 2];
    char key[64];
    for (size_t i = 0; i < ids->count; i++) {
        store_le16(list + 2 * i, ids->ids[i]);
    }
    snprintf(key, sizeof(key), "%.38s\\Filters", provider);
    etw_registry_put_dword(tree, key, "Enabled", 1);
    etw_registry_put_dword(tree, key, "EventIdFilterIn", !ids->exclude);
    etw_registry_put(
        tree, key, "EventIds", ETW_REGISTRY_BINARY, span_make(list, (size_t)ids->count * 2));
}

/* The flags of a classic provider are 32 bits in a value of their own. */
static void put_provider(
    const struct etw_request *request, bool classic, struct etw_registry_tree *tree)
{
    char guid[GUID_TEXT_SIZE];
    char key[ETW_AUTOLOGGER_GUID_SIZE];
    guid_write(&request->provider, guid);
    snprintf(key, sizeof(key), "{%.36s}", guid);
    etw_registry_put_dword(tree, key, "Enabled", 1);
    etw_registry_put_dword(tree, key, "EnableLevel", request->level);
    if (classic) {
        etw_registry_put_dword(
            tree, key, "EnableFlags", request->any ? (uint32_t)request->any : UINT32_MAX);
    } else {
        etw_registry_put_qword(tree, key, "MatchAnyKeyword", etw_keywords_any(request));
        etw_registry_put_qword(tree, key, "MatchAllKeyword", etw_keywords_all(request));
    }
    etw_registry_put_dword(tree, key, "EnableProperty", request->properties);
    if (request->events.count) {
        put_ids(&request->events, key, tree);
    }
}

/* An entry without wanted events has no key. */
static bool is_same_key(const struct etw_plan_entry *a, const struct etw_plan_entry *b)
{
    return !a->nothing && guid_equal(&a->request.provider, &b->request.provider);
}

/* Two entries for one provider share a key. */
static bool put_providers(
    const struct etw_plan *plan, struct etw_registry_tree *tree, struct error *err)
{
    struct etw_request *request = malloc(sizeof(*request));
    if (!request) {
        return error_set(err, ERR_MEMORY, "out of memory for providers");
    }
    for (size_t i = 0; i < plan->entry_count; i++) {
        bool is_first = !plan->entries[i].nothing;
        for (size_t k = 0; k < i && is_first; k++) {
            is_first = !is_same_key(&plan->entries[k], &plan->entries[i]);
        }
        if (!is_first) {
            continue;
        }
        *request = plan->entries[i].request;
        for (size_t k = i + 1; k < plan->entry_count; k++) {
            if (is_same_key(&plan->entries[k], &plan->entries[i])) {
                etw_enable_merge(request, &plan->entries[k].request);
            }
        }
        put_provider(request, plan->entries[i].spec->classic, tree);
    }
    free(request);
    return true;
}

/* ---- the autologger -------------------------------------------------------------------------- */

static bool set_file(const struct etw_plan *plan, const struct input_env *env,
    struct etw_boot *boot, struct error *err)
{
    char path[ETW_BOOT_PATH_BYTES];
    const char *file = plan->session.file;
    if (boot->is_read) {
        if (!env->data_dir) {
            return error_set(err, ERR_CONFIG,
                "boot: the agent needs agent.data_dir for the file that Windows writes until the "
                "agent starts. add it");
        }
        if (!etw_boot_file(env->data_dir, env->name, path, err)) {
            return false;
        }
        file = path;
    }
    return plat_path_absolute(file, boot->file, sizeof(boot->file), err);
}

static bool describe(const struct etw_plan *plan, const struct input_env *env,
    struct etw_boot *boot, struct error *err)
{
    struct etw_registry_tree *tree = &boot->autologger.tree;
    struct span name;
    boot->is_read = plan->kind != ETW_PLAN_RECORD;
    for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
        boot->has_flags = boot->has_flags || plan->groups.words[i];
    }
    if (!set_file(plan, env, boot, err)) {
        return false;
    }
    /* its Guid comes first: it identifies an incomplete autologger as ours */
    put_session(plan, boot, tree);
    bool good = put_providers(plan, tree, err);
    /* comes last: until then Windows does not start it */
    etw_registry_put_dword(tree, "", "Start", 1);
    if (good && (tree->failed || !arena_copy(&tree->memory, span_text(plan->name), &name))) {
        good = error_set(err, ERR_MEMORY, "out of memory for an autologger");
    }
    boot->autologger.name = good ? (const char *)name.data : NULL;
    return good;
}

bool etw_boot_describe(const char *type, const void *settings, const struct input_env *env,
    struct etw_boot *ret_boot, struct error *err)
{
    enum etw_plan_kind kind;
    if (!kind_of(type, &kind)) {
        return error_set(
            err, ERR_CONFIG, "Windows cannot start a session of type %.40s at boot", type);
    }
    struct etw_plan *plan = etw_plan_create(kind, settings, env, err);
    if (!plan) {
        return false;
    }
    *ret_boot = (struct etw_boot){.is_read = false};
    etw_registry_init(&ret_boot->autologger.tree);
    bool good = describe(plan, env, ret_boot, err);
    if (!good) {
        etw_registry_fini(&ret_boot->autologger.tree);
    }
    etw_plan_destroy(plan);
    return good;
}

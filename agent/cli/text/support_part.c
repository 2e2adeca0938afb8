#include "cli/text/support_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_limits.h"
#include "app/config/app_memory.h"
#include "app/plan/app_account.h"
#include "app/plan/app_reads.h"
#include "app/plan/app_trust.h"
#include "app/state/data_folder.h"
#include "app/support/support_log.h"
#include "base/put.h"
#include "cli/text/check_words.h"
#include "cli/text/live_providers.h"
#include "cli/text/service_text.h"
#include "cli/text/session_text.h"
#include "cli/text/spool_text.h"
#include "cli/text/version_text.h"
#include "config/config_show.h"
#include "config/config_value.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_host.h"
#include "platform/plat_limits.h"
#include "platform/plat_path.h"
#include "platform/plat_processes.h"
#include "platform/plat_system.h"
#include "store/disk/disk.h"

/* ---- the program and the machine ------------------------------------------------------------- */

static bool write_version(const struct support *support, struct buf *out, struct error *err)
{
    (void)support;
    (void)err;
    version_text_write(false, out);
    return true;
}

static bool write_system(const struct support *support, struct buf *out, struct error *err)
{
    static struct plat_host host;
    uint8_t time[PUT_MAX + 1];
    uint8_t *end = time;
    uint64_t now = plat_now_filetime();
    (void)support;
    (void)err;
    plat_host_query(&host);
    put_filetime(&end, now);
    *end = 0;
    buf_printf(out, "time %s, local time is %d minutes ahead of UTC\n", (const char *)time,
        plat_local_offset(now) / 60);
    buf_printf(out, "name %s\n", host.name);
    if (host.build) {
        buf_printf(out, "system %s, %u.%u.%u.%u, architecture %u\n", host.product, host.major,
            host.minor, host.build, host.revision, host.architecture);
    }
    buf_printf(out, "Event Tracing for Windows: %s\n", plat_has_etw() ? "yes" : "no");
    buf_printf(out, "all rights: %s\n", app_trust_matters() ? "yes" : "no");
    return true;
}

/* ---- the configuration ----------------------------------------------------------------------- */

static void add_warning(void *self, const char *text)
{
    config_report_add(self, "warning", 0, 0, "%s", text);
}

static void write_words(const struct support *support, struct buf *out)
{
    static struct check check;
    check = (struct check){
        .config = support->config, .path = support->config_path, .policy = *support->policy};
    config_report_init(&check.warnings);
    config_report_init(&check.refusals);
    check.warnings.kind = "warning";
    check.refusals.kind = "not here";
    check.can_run = app_config_can_run(support->config, &check.refusals);
    app_reads_check(support->config, &check.refusals, &check.refusals);
    app_warnings_find(support->config, &check.warnings);
    app_trust_find(support->config, app_trust_matters() ? APP_TRUST_CONFIG : APP_TRUST_OUTPUTS,
        APP_TRUST_CHECKER, add_warning, &check.warnings);
    check_words_write(&check, out);
    config_report_write(&check.refusals, "", out);
    config_report_write(&check.warnings, "", out);
    config_report_fini(&check.warnings);
    config_report_fini(&check.refusals);
}

static bool write_check(const struct support *support, struct buf *out, struct error *err)
{
    (void)err;
    buf_printf(out, "configuration %s\n\n", support->config_path);
    if (support->config) {
        write_words(support, out);
    } else {
        config_report_write(support->errors, "", out);
    }
    return true;
}

static bool write_config(const struct support *support, struct buf *out, struct error *err)
{
    if (!support->root) {
        return error_set(
            err, ERR_CONFIG, "%s: cannot be read. check.txt says why", support->config_path);
    }
    buf_printf(out, "# The settings of %s, including defaults.\n", support->config_path);
    if (!support->config) {
        buf_add_text(out, "# It has errors (check.txt); invalid settings are left out here.\n");
    }
    config_show_yaml(support->memory, support->fields, support->root, 0, out);
    return support->config ||
           error_set(err, ERR_CONFIG, "%s: has errors. check.txt lists them", support->config_path);
}

static void put_size(const char *name, uint64_t bytes, struct buf *out)
{
    buf_printf(out, "%-22s %s\n", name, config_value_write_size(bytes).text);
}

static bool write_limits(const struct support *support, struct buf *out, struct error *err)
{
    const struct app_config *config = support->config;
    struct error why;
    (void)err;
    if (!config) {
        return true;
    }
    put_size("agent.memory", config->agent.memory_bytes, out);
    put_size("needed at least", app_memory_needed(config), out);
    put_size("of it, definitions", app_memory_definitions(config), out);
    buf_printf(out, "%-22s ", "agent.limits");
    size_t before = out->size;
    app_limits_write(&config->agent.limits, out);
    buf_add_text(out, out->size == before ? "none\n" : "\n");
    const struct app_limits *limits = &config->agent.limits;
    if ((limits->memory_bytes && !plat_limits_is_memory_ours(limits->memory_bytes, &why)) ||
        (limits->cpu_hundredths != PLAT_LIMITS_ALL_CPU &&
            !plat_limits_is_cpu_ours((uint32_t)limits->cpu_hundredths, &why))) {
        buf_printf(out, "%s\n", why.text);
    }
    buf_printf(
        out, "%-22s %lld\n", "agent.decode_workers", (long long)config->agent.decode_workers);
    put_size("spool.max_size", config->spool.max_size_bytes, out);
    put_size("spool.min_free_disk", config->spool.min_free_disk_bytes, out);
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        buf_printf(out, "output %s: %lld workers, batches of at most %s\n", output->name,
            (long long)output->workers,
            config_value_write_size(app_config_batch_bytes(config, output)).text);
    }
    return true;
}

/* ---- what runs ------------------------------------------------------------------------------- */

static void write_service(struct buf *out)
{
    struct service_status status;
    struct service_config config;
    struct error why;
    if (!service_api_has_services()) {
        return;
    }
    if (service_control_query(&status, &config, &why)) {
        service_text_status(&status, &config, out);
        service_control_config_fini(&config);
    } else {
        buf_printf(out, "service: %s\n", why.text);
    }
}

static bool write_status(const struct support *support, struct buf *out, struct error *err)
{
    enum { MAX_NUMBER_BYTES = 64 };
    char path[DATA_FOLDER_PATH_BYTES];
    char *text = NULL;
    size_t size;
    write_service(out);
    if (!support->data_dir) {
        buf_add_text(out, "data folder: none\n");
        return true;
    }
    buf_printf(out, "data folder %s\n", support->data_dir);
    if (!data_folder_path(support->data_dir, "lock", path, err)) {
        return false;
    }
    if (plat_path_kind(path) == PLAT_PATH_NONE) {
        buf_add_text(out, "no agent has used it yet\n");
        return true;
    }
    if (!plat_file_load(path, MAX_NUMBER_BYTES, &text, &size, err)) {
        return false;
    }
    unsigned long pid = strtoul(text, NULL, 10);
    buf_printf(out, "process %lu used it last; %s process has this number now\n", pid,
        plat_process_runs((uint32_t)pid) ? "a" : "no");
    free(text);
    return true;
}

static bool write_sessions(const struct support *support, struct buf *out, struct error *err)
{
    struct etw_session_list sessions;
    (void)support;
    if (!plat_has_etw()) {
        return true;
    }
    if (!etw_control_list(&sessions, err)) {
        return false;
    }
    session_text_table(&sessions, out);
    for (size_t i = 0; i < sessions.count; i++) {
        buf_add_byte(out, '\n');
        session_text_details(&sessions.items[i], out);
    }
    etw_control_list_fini(&sessions);
    return true;
}

static bool write_providers(const struct support *support, struct buf *out, struct error *err)
{
    (void)support;
    return !live_providers_are_known() || live_providers_list(false, out, err);
}

/* ---- what is on the disk --------------------------------------------------------------------- */

static bool write_spool(const struct support *support, struct buf *out, struct error *err)
{
    char folder[DATA_FOLDER_PATH_BYTES];
    char path[DATA_FOLDER_PATH_BYTES];
    struct spool_facts facts;
    const struct app_config *config = support->config;
    if (!config || !support->data_dir) {
        return true;
    }
    if (!data_folder_path(support->data_dir, "spool", folder, err) ||
        !data_folder_path(folder, "catalogue.db", path, err)) {
        return false;
    }
    if (plat_path_kind(path) == PLAT_PATH_NONE) {
        return true;
    }
    struct spool_text_place place = {.folder = folder,
        .max_bytes = config->spool.max_size_bytes,
        .min_free_bytes = config->spool.min_free_disk_bytes};
    if (!plat_disk_free(folder, &place.free_bytes, NULL)) {
        place.free_bytes = UINT64_MAX;
    }
    struct catalogue *catalogue = catalogue_open(path, CATALOGUE_READ, err);
    bool good = catalogue && spool_facts_read(catalogue, &facts, err);
    if (good) {
        spool_text_table(&facts, &place, out);
        spool_facts_fini(&facts);
    }
    catalogue_close(catalogue);
    return good;
}

enum { MAX_FILES = 5000, MAX_DEPTH = 6 };

struct listing {
    struct buf *out;
    char path[DATA_FOLDER_PATH_BYTES];
    size_t root; /* bytes of the path that are not shown */
    size_t files;
    unsigned depth;
};

static bool enter(struct listing *list, const char *name, size_t *ret_size)
{
    size_t size = strlen(list->path);
    *ret_size = size;
    int added = snprintf(list->path + size, sizeof(list->path) - size, "/%s", name);
    bool fits = added > 0 && (size_t)added < sizeof(list->path) - size;
    if (!fits) {
        list->path[size] = '\0';
    }
    return fits;
}

static bool list_file(void *self, const char *name)
{
    struct listing *list = self;
    size_t size;
    if (list->files++ < MAX_FILES && enter(list, name, &size)) {
        struct plat_stamp stamp = plat_path_stamp(list->path);
        buf_printf(
            list->out, "%12llu %s\n", (unsigned long long)stamp.size, list->path + list->root);
        list->path[size] = '\0';
    }
    return list->files <= MAX_FILES;
}

static bool list_folder(void *self, const char *name)
{
    struct listing *list = self;
    size_t size;
    if (list->depth < MAX_DEPTH && enter(list, name, &size)) {
        list->depth++;
        plat_dir_files(list->path, list_file, list, NULL);
        plat_dir_folders(list->path, list_folder, list, NULL);
        list->depth--;
        list->path[size] = '\0';
    }
    return list->files <= MAX_FILES;
}

static bool write_files(const struct support *support, struct buf *out, struct error *err)
{
    static struct listing list;
    list = (struct listing){.out = out};
    if (!support->data_dir || plat_path_kind(support->data_dir) == PLAT_PATH_NONE) {
        return true;
    }
    int size = snprintf(list.path, sizeof(list.path), "%s", support->data_dir);
    list.root = (size_t)size + 1;
    buf_printf(out, "%12s %s\n", "bytes", support->data_dir);
    if ((size_t)size >= sizeof(list.path) || !plat_dir_files(list.path, list_file, &list, err)) {
        return false;
    }
    plat_dir_folders(list.path, list_folder, &list, NULL);
    if (list.files > MAX_FILES) {
        buf_add_text(out, "and more\n");
    }
    return true;
}

/* Without the configuration its secrets are unknown. */
static bool write_log(const struct support *support, struct buf *out, struct error *err)
{
    char path[SUPPORT_LOG_PATH_BYTES];
    if (!support_log_path(support->root ? &support->root->agent.log : NULL, path)) {
        return true;
    }
    if (plat_path_kind(path) == PLAT_PATH_NONE) {
        buf_printf(out, "%s: there is none yet\n", path);
        return true;
    }
    return support->root ? support_log_read(path, out, err)
                         : error_set(err, ERR_CONFIG,
                               "%s: left out, as without a configuration its secrets are unknown. "
                               "name one with -c",
                               path);
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct support_part parts[] = {
    {"version.txt", "version, commit, compiler, libraries", write_version},
    {"system.txt", "the machine, its system and its time", write_system},
    {"check.txt", "the result of `etwship check`", write_check},
    {"config.yaml", "the configuration, including defaults, without secrets", write_config},
    {"limits.txt", "limits in effect", write_limits},
    {"status.txt", "the service, the data folder and the process that uses it", write_status},
    {"sessions.txt", "all sessions of Event Tracing for Windows", write_sessions},
    {"providers.txt", "installed and registered providers", write_providers},
    {"spool.txt", "events that wait on the disk, per output", write_spool},
    {"files.txt", "names and sizes of the files in the data folder", write_files},
    {"log.txt", "the last lines of the log", write_log},
};

const struct support_part *support_part_at(size_t index)
{
    return index < sizeof(parts) / sizeof(parts[0]) ? &parts[index] : NULL;
}

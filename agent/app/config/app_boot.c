#include "app/config/app_boot.h"

#include <stdio.h>

#include "etw/etw_hold.h"
#include "input/live/live_options.h"
#include "input/windows/etw_boot.h"

bool app_boot_is_asked(const struct app_session *session)
{
    struct input_live live = session->ops && session->ops->live
                                 ? session->ops->live(session->settings)
                                 : (struct input_live){.session = NULL};
    return live.session && live.session->boot;
}

bool app_boot_is_read(const struct app_session *session)
{
    return app_boot_is_asked(session) && strcmp(session->ops->name, "record") != 0;
}

static void complain(const struct config *memory, const void *member, size_t size, const char *key,
    const char *what, struct config_report *report)
{
    config_error_at(memory, member, size, report, "%s: %s", key, what);
}

void app_boot_check(
    const struct config *memory, const struct app_session *session, struct config_report *report)
{
    static const char others[] = "Windows has no such filter at boot, so all other events would "
                                 "arrive, too. remove the filter, or boot";
    const struct app_provider *providers = session->providers.items;
    if (!app_boot_is_asked(session)) {
        return;
    }
    for (size_t i = 0; i < session->providers.count && config_report_has_room(report); i++) {
        const struct app_provider *p = &providers[i];
        const struct app_processes *from = &p->processes;
        if (from->pids.count) {
            complain(memory, &from->pids, sizeof(from->pids), "pids",
                "process ids of the next boot are not known. remove it, or boot", report);
        }
        const struct {
            bool given;
            const void *member;
            size_t size;
            const char *key;
        } filters[] = {
            {from->executables.count > 0, &from->executables, sizeof(from->executables),
                "executables"},
            {from->packages.count > 0, &from->packages, sizeof(from->packages), "packages"},
            {from->apps.count > 0, &from->apps, sizeof(from->apps), "apps"},
            {from->container != NULL, &from->container, sizeof(from->container), "container"},
            {p->payload.count > 0, &p->payload, sizeof(p->payload), "payload"},
            {p->disallow.count > 0, &p->disallow, sizeof(p->disallow), "disallow"},
        };
        for (size_t k = 0; k < sizeof(filters) / sizeof(filters[0]); k++) {
            if (filters[k].given) {
                complain(
                    memory, filters[k].member, filters[k].size, filters[k].key, others, report);
            }
        }
    }
}

static const char *format(struct arena *arena, const char *before, const char *name)
{
    char text[512];
    struct span copy;
    int size = snprintf(text, sizeof(text), "%s%s", before, name);
    return size > 0 && (size_t)size < sizeof(text) && arena_copy(arena, span_text(text), &copy)
               ? (const char *)copy.data
               : NULL;
}

const struct app_session *app_boot_reader(
    const struct app_session *session, const char *data_dir, struct arena *arena, struct error *err)
{
    char path[ETW_BOOT_PATH_BYTES];
    struct span file;
    struct app_session *reader = arena_alloc(arena, sizeof(*reader));
    struct input_boot_settings *settings = arena_alloc(arena, sizeof(*settings));
    if (!etw_boot_file(data_dir, session->name, path, err)) {
        return NULL;
    }
    const char *name = format(arena, session->name, "/boot");
    const char *etw_session = format(arena, ETW_OUR_PREFIX, session->name);
    if (!reader || !settings || !name || !etw_session ||
        !arena_copy(arena, span_text(path), &file)) {
        error_set(err, ERR_MEMORY, "out of memory for sessions");
        return NULL;
    }
    *settings = (struct input_boot_settings){
        .etw_session = etw_session, .file = (const char *)file.data};
    *reader = *session;
    reader->name = name;
    reader->ops = &input_boot;
    reader->settings = settings;
    return reader;
}

#include "cli/service/autologger_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_boot.h"
#include "app/config/app_providers.h"
#include "cli/options/cli.h"
#include "cli/text/explain.h"
#include "etw/etw_hold.h"
#include "etw/etw_text.h"
#include "schema/events/kernel_names.h"

enum { MAX_FOUND = 4096 };

/* An unknown name counts as that of a TraceLogging provider, as in a running session, but at boot
 * it is not looked up again. */
static void warn_of_names(
    const struct app_session *session, const struct provider_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (specs[i].name.size && guid_is_zero(&specs[i].guid) && !specs[i].optional) {
            cli_warning(
                "session %s: this machine knows no provider %.*s. its GUID is derived from its "
                "name, as for TraceLogging providers; if it has another one, write the GUID",
                session->name, SPAN_ARG(span_first(specs[i].name, 200)));
        }
    }
}

/* Its providers as narrowed by rules, as in a running session. */
static void set_scopes(
    const struct explain *explain, const struct app_session *session, struct provider_spec *specs)
{
    size_t index = explain_find(explain, session->name);
    for (size_t i = 0; index != SIZE_MAX && i < session->providers.count; i++) {
        specs[i].scope = explain->plan.providers[index][i].scope;
    }
}

static bool want(const struct explain *explain, const struct app_session *session,
    struct etw_boot *ret_boot, struct error *err)
{
    const struct app_config *config = explain->config;
    const struct app_provider *providers = session->providers.items;
    size_t count = session->providers.count;
    struct provider_spec *specs = calloc(count + 1, sizeof(*specs));
    if (!specs) {
        return error_set(err, ERR_MEMORY, "out of memory for providers");
    }
    for (size_t i = 0; i < count; i++) {
        specs[i] = providers[i].spec;
    }
    bool good = app_providers_resolve(config, session, specs, err);
    if (good) {
        struct input_env env = {.name = session->name,
            .providers = specs,
            .provider_count = count,
            .kernel_event = kernel_names_find,
            .data_dir = app_config_data_dir(config)};
        warn_of_names(session, specs, count);
        set_scopes(explain, session, specs);
        good = etw_boot_describe(session->ops->name, session->settings, &env, ret_boot, err);
    }
    free(specs);
    return good;
}

static bool want_all(struct autologger_list *list, const struct explain *explain, struct error *err)
{
    const struct app_config *config = explain->config;
    struct error why;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        if (!session->enabled || !app_boot_is_asked(session)) {
            continue;
        }
        if (!want(explain, session, &list->wanted[list->count], &why)) {
            return error_set(err, why.code, "session %s: %.400s", session->name, why.text);
        }
        list->sessions[list->count++] = session->name;
    }
    return true;
}

bool autologger_list_want(
    struct autologger_list *list, const struct app_config *config, struct error *err)
{
    struct explain explain;
    list->wanted = calloc(config->session_count + 1, sizeof(*list->wanted));
    list->sessions = calloc(config->session_count + 1, sizeof(*list->sessions));
    if (!list->wanted || !list->sessions) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool good = explain_init(&explain, config, NULL, err) && want_all(list, &explain, err);
    explain_fini(&explain);
    return good;
}

static bool on_name(void *self, const char *name)
{
    struct autologger_list *list = self;
    if (!etw_hold_is_ours(name)) {
        list->other_count++;
        return true;
    }
    char *copy = list->found_count < MAX_FOUND ? span_copy(span_text(name)) : NULL;
    if (copy) {
        list->found[list->found_count++] = copy;
    }
    return true;
}

bool autologger_list_find(struct autologger_list *list, struct error *err)
{
    list->found = calloc(MAX_FOUND, sizeof(*list->found));
    return list->found ? etw_registry_each(ETW_AUTOLOGGER_ROOT, on_name, list, err)
                       : error_set(err, ERR_MEMORY, "out of memory");
}

bool autologger_list_wants(const struct autologger_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (etw_text_same_name(list->wanted[i].autologger.name, name)) {
            return true;
        }
    }
    return false;
}

void autologger_list_fini(struct autologger_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        etw_registry_fini(&list->wanted[i].autologger.tree);
    }
    for (size_t i = 0; i < list->found_count; i++) {
        free(list->found[i]);
    }
    free(list->wanted);
    free(list->sessions);
    free(list->found);
}

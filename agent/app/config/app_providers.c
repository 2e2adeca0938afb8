#include "app/config/app_providers.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_fields.h"
#include "app/config/app_wpp.h"
#include "config/config_check.h"
#include "config/config_value.h"
#include "etw/etw_names.h"
#include "input/windows/etw_plan.h"
#include "schema/source/known_providers.h"

enum { MAX_EXECUTABLE_BYTES = 1024, MAX_ID = 65535 };

struct checker {
    struct config *memory;
    struct config_report *report;
    bool is_live;   /* the session enables its providers */
    bool is_kernel; /* it is one of kernel events */
};

/* An error at ${member}, whose text reads "KEY: what. what to do". */
static void complain(const struct checker *checker, const void *member, size_t size,
    const char *key, const char *text)
{
    config_error_at(checker->memory, member, size, checker->report, "%s: %s", key, text);
}

/* Each item is a number, put into ${bits}, or a name. */
static bool split_keywords(const struct checker *checker, const struct config_strings *items,
    struct provider_keywords *keywords)
{
    const char **names = config_alloc(checker->memory, items->count * sizeof(const char *));
    if (!names) {
        return false;
    }
    keywords->names = names;
    keywords->given = items->count > 0;
    for (size_t i = 0; i < items->count; i++) {
        uint64_t bits;
        if (provider_spec_parse_bits(span_text(items->items[i]), &bits)) {
            keywords->bits |= bits;
            keywords->named |= bits == UINT64_MAX ? 0 : bits;
        } else if (items->items[i][0] == 0 ||
                   (items->items[i][0] >= '0' && items->items[i][0] <= '9')) {
            complain(checker, &items->items[i], sizeof(items->items[i]), "keywords",
                "this is not a mask. write a number such as 0x10, or the name of a keyword");
        } else {
            names[keywords->name_count++] = items->items[i];
        }
    }
    return true;
}

/* Each item is an id, a range of them, or a name. */
static bool split_events(const struct checker *checker, const struct config_strings *items,
    struct provider_events *events)
{
    const char **names = config_alloc(checker->memory, items->count * sizeof(const char *));
    if (!names) {
        return false;
    }
    events->names = names;
    for (size_t i = 0; i < items->count; i++) {
        const char *item = items->items[i];
        bool is_id = item[0] >= '0' && item[0] <= '9';
        struct error err;
        if (!is_id && item[0]) {
            names[events->name_count++] = item;
        } else if (!provider_spec_add_range(events, span_text(item), &err)) {
            complain(checker, &items->items[i], sizeof(item), "events", err.text);
        }
    }
    return true;
}

struct compact {
    const struct checker *checker;
    const char **text;
};

static void complain_of_part(void *self, size_t character, const char *what)
{
    const struct compact *compact = self;
    char text[CONFIG_REPORT_MAX_TEXT];
    snprintf(text, sizeof(text), "providers: %s", what);
    config_check_say(compact->checker->memory, compact->text, sizeof(*compact->text), character,
        text, compact->checker->report);
}

static void check_compact(const struct checker *checker, struct app_provider *provider)
{
    const char **text = &provider->text.compact;
    struct compact compact = {checker, text};
    provider_spec_read(&provider->spec, span_text(*text), complain_of_part, &compact);
}

static void check_payload(const struct checker *checker, const struct provider_payload *payload)
{
    uint64_t id;
    if (!provider_spec_parse_bits(span_text(payload->id), &id) || id > MAX_ID) {
        complain(checker, payload, sizeof(*payload), "payload",
            "this is not an event id. write a number from 0 to 65535");
    }
    const struct provider_predicate *list = payload->fields.items;
    for (size_t i = 0; i < payload->fields.count; i++) {
        const struct provider_predicate *p = &list[i];
        int given = (p->is != NULL) + (p->is_not != NULL) + (p->contains != NULL) +
                    (p->not_contains != NULL) + (p->below != NULL) + (p->above != NULL) +
                    (p->at_most != NULL) + (p->at_least != NULL) + (p->between.count > 0) +
                    (p->not_between.count > 0);
        if (given != 1 && !config_is_flawed(checker->memory, p)) {
            complain(checker, p, sizeof(*p), "payload",
                "a field takes one condition. write one, as in {contains: text}");
        }
    }
}

static void check_processes(const struct checker *checker, const struct app_processes *processes,
    struct provider_spec *spec)
{
    size_t bytes = 0;
    for (size_t i = 0; i < processes->executables.count; i++) {
        bytes += 2 * (strlen(processes->executables.items[i]) + 1);
    }
    if (bytes > MAX_EXECUTABLE_BYTES) {
        complain(checker, &processes->executables, sizeof(processes->executables), "executables",
            "ETW takes 511 characters in all. name fewer, or filter by process");
    }
    for (size_t i = 0; i < processes->pids.count; i++) {
        uint64_t pid;
        if (!provider_spec_parse_bits(span_text(processes->pids.items[i]), &pid) ||
            pid > UINT32_MAX) {
            complain(checker, &processes->pids.items[i], sizeof(const char *), "pids",
                "this is not a process id. write a number");
        } else if (spec->pid_count < PROVIDER_MAX_PIDS) {
            spec->pids[spec->pid_count++] = (uint32_t)pid;
        }
    }
}

/* Check the settings of a provider that only ETW can apply. */
static bool check_stacks(
    const struct checker *checker, const struct app_stacks *from, struct provider_stacks *to)
{
    struct provider_keywords any = {0};
    struct provider_keywords all = {0};
    struct error err;
    if (!split_events(checker, &from->events, &to->events) ||
        !split_keywords(checker, &from->keywords.any, &any) ||
        !split_keywords(checker, &from->keywords.all, &all)) {
        return false;
    }
    to->level = PROVIDER_LEVEL_ALL;
    if (from->level && !provider_spec_parse_level(span_text(from->level), &to->level, &err)) {
        complain(checker, &from->level, sizeof(const char *), "level", err.text);
    }
    if (any.name_count || all.name_count) {
        complain(checker, &from->keywords, sizeof(from->keywords), "keywords",
            "keywords of stacks are masks, without names. write the bits");
    }
    to->by_level = from->level || any.given || all.given;
    to->any = any.bits;
    to->all = all.bits;
    return true;
}

static void check_group(const struct checker *checker, const struct app_provider *provider)
{
    const struct config_strings *disallow = &provider->disallow;
    struct guid guid;
    if (provider->group && provider->spec.name.size) {
        complain(checker, &provider->group, sizeof(provider->group), "group",
            "a group is known by its GUID alone. write name: GUID");
    }
    for (size_t i = 0; i < disallow->count; i++) {
        if (!guid_parse(span_text(disallow->items[i]), &guid)) {
            complain(checker, &disallow->items[i], sizeof(const char *), "disallow",
                "this is not a GUID. write that of a provider");
        }
    }
    if (disallow->count && !provider->group) {
        complain(checker, disallow, sizeof(*disallow), "disallow",
            "only groups have members. add group: true");
    }
}

static bool fill_etw(const struct checker *checker, struct app_provider *provider)
{
    struct provider_spec *spec = &provider->spec;
    spec->executables = provider->processes.executables;
    spec->packages = provider->processes.packages;
    spec->apps = provider->processes.apps;
    spec->container = provider->processes.container;
    spec->payload = provider->payload;
    spec->capture_at_start = provider->capture_state.at_start;
    spec->capture_every_ns = provider->capture_state.every_ns;
    spec->optional = provider->optional;
    spec->classic = provider->wpp != NULL;
    spec->wpp = provider->wpp;
    spec->flags = provider->flags;
    spec->take_over = provider->take_over;
    spec->group = provider->group;
    spec->disallow = provider->disallow;
    spec->only_keywords = provider->only_keywords;
    spec->exclude_private = provider->exclude_private;
    spec->containers = provider->containers;
    check_group(checker, provider);
    return check_stacks(checker, &provider->stack_for, &spec->stacks);
}

static bool check_long(const struct checker *checker, struct app_provider *provider)
{
    struct provider_spec *spec = &provider->spec;
    struct error err;
    if (!provider->text.name && !provider->wpp && !config_is_flawed(checker->memory, provider)) {
        complain(checker, provider, sizeof(*provider), "providers",
            "the entry has no name. add name: NAME or GUID");
    } else if (provider->text.name &&
               !provider_spec_set_name(spec, span_text(provider->text.name), &err)) {
        complain(checker, &provider->text.name, sizeof(const char *), "name", err.text);
    }
    if (provider->text.level &&
        !provider_spec_parse_level(span_text(provider->text.level), &spec->level, &err)) {
        complain(checker, &provider->text.level, sizeof(const char *), "level", err.text);
    }
    if (provider->flags.count && !provider->wpp) {
        complain(checker, &provider->flags, sizeof(provider->flags), "flags",
            "only WPP has flags. write keywords: {any: [...]}");
    }
    if (provider->wpp) {
        app_wpp_check(checker->memory, provider, checker->is_live, checker->report);
    }
    for (size_t i = 0; i < provider->text.extended.count; i++) {
        int value;
        if (config_value_enum(
                span_text(provider->text.extended.items[i]), app_extended_names, &value, &err)) {
            spec->extended |= UINT32_C(1) << value;
        }
    }
    const struct provider_payload *payloads = provider->payload.items;
    for (size_t i = 0; i < provider->payload.count; i++) {
        check_payload(checker, &payloads[i]);
    }
    check_processes(checker, &provider->processes, spec);
    return fill_etw(checker, provider) &&
           split_keywords(checker, &provider->text.keywords.any, &spec->any) &&
           split_keywords(checker, &provider->text.keywords.all, &spec->all) &&
           split_events(checker, &provider->text.events.include, &spec->include) &&
           split_events(checker, &provider->text.events.exclude, &spec->exclude);
}

/* Its keywords are kinds of kernel events, and all of them together slow a machine down. */
static void check_system(const struct checker *checker, const struct app_provider *provider)
{
    const struct provider_keywords *any = &provider->spec.any;
    const struct etw_system_provider *system = etw_plan_system_provider(
        &provider->spec, checker->is_kernel);
    bool has_some = any->bits != UINT64_MAX && (any->bits || any->name_count);
    if (!checker->is_live || !system || has_some || config_is_flawed(checker->memory, provider)) {
        return;
    }
    char text[CONFIG_REPORT_MAX_TEXT];
    snprintf(text, sizeof(text),
        "%s without keywords enables all of its events. name those that you need, as in {name: %s, "
        "keywords: {any: [%.*s]}}; there are %s",
        system->name, system->name, (int)strcspn(system->keywords, " "), system->keywords,
        system->keywords);
    complain(checker, provider, sizeof(*provider), "providers", text);
}

static void check_count(const struct checker *checker, const struct app_session *session)
{
    const struct input_ops *ops = session->variant->module;
    bool needed = ops->providers == INPUT_PROVIDERS_REQUIRED ||
                  (ops->needs_providers && ops->needs_providers(session->settings) &&
                      !config_is_flawed(checker->memory, session->settings));
    if (needed && session->providers.count == 0 &&
        !config_is_flawed_at(checker->memory, &session->providers, sizeof(session->providers))) {
        config_error_at(checker->memory, session, sizeof(*session), checker->report,
            ops->needs_providers ? "the keys 'providers' and 'flags' are missing. add one: a list "
                                   "of providers, or of groups of kernel events"
                                 : "the key 'providers' is missing. add it: a list of providers");
    }
    if (ops->providers == INPUT_PROVIDERS_NONE && session->providers.count) {
        config_error_at(checker->memory, &session->providers, sizeof(session->providers),
            checker->report,
            "providers: sessions of type '%s' have none. remove the key, or use type: realtime",
            session->variant->type);
    }
}

bool app_providers_check(
    struct config *memory, struct app_session *session, struct config_report *report)
{
    struct checker checker = {.memory = memory, .report = report};
    struct app_provider *providers = session->providers.items;
    if (session->variant) {
        const struct input_ops *ops = session->variant->module;
        checker.is_live = ops->switches_on;
        checker.is_kernel = ops->kernel;
        check_count(&checker, session);
    }
    for (size_t i = 0; i < session->providers.count; i++) {
        provider_spec_init(&providers[i].spec);
        if (providers[i].text.compact) {
            check_compact(&checker, &providers[i]);
        } else if (!check_long(&checker, &providers[i])) {
            return false;
        }
        check_system(&checker, &providers[i]);
    }
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool refuse_name(const struct app_session *session, const struct provider_facts *facts,
    const char *name, struct error *err)
{
    struct span provider = span_first(facts->name, 200);
    if (!facts->found) {
        return error_set(err, ERR_CONFIG,
            "session %s: there is no definition of provider %.*s, so its keyword '%.100s' has no "
            "bits. name its manifest under schema, or write the bits",
            session->name, SPAN_ARG(provider), name);
    }
    return error_set(err, ERR_CONFIG,
        "session %s: the definition of provider %.*s has no keyword '%.100s'. write its bits",
        session->name, SPAN_ARG(provider), name);
}

static bool put_bits(const struct app_session *session, const struct provider_facts *facts,
    struct provider_spec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->any.name_count; i++) {
        if (i >= 64 || !(facts->any_found >> i & 1)) {
            return refuse_name(session, facts, spec->any.names[i], err);
        }
    }
    for (size_t i = 0; i < spec->all.name_count; i++) {
        if (i >= 64 || !(facts->all_found >> i & 1)) {
            return refuse_name(session, facts, spec->all.names[i], err);
        }
    }
    spec->any.bits = facts->any_bits;
    spec->any.named |= facts->any_named;
    spec->any.name_count = 0;
    spec->all.bits = facts->all_bits;
    spec->all.name_count = 0;
    return true;
}

/* Names that this machine knows are replaced by bits, if it knows all of them. */
static void ask_for_bits(const struct guid *guid, const struct etw_system_provider *system,
    struct provider_keywords *keywords)
{
    uint64_t all = 0;
    for (size_t i = 0; i < keywords->name_count; i++) {
        struct span name = span_text(keywords->names[i]);
        uint64_t bits = system ? etw_kernel_keyword(system, name) : 0;
        if (!bits && !etw_names_keyword(guid, name, &bits)) {
            return;
        }
        all |= bits;
    }
    keywords->bits |= all;
    keywords->named |= all;
    keywords->name_count = 0;
}

/* For its own sessions, ETW's names on this machine have precedence over definitions in files: a
 * provider may be registered with any GUID. */
static void ask_machine(struct provider_spec *specs, size_t count, bool kernel)
{
    struct etw_names *names = etw_names_create(NULL);
    for (size_t i = 0; i < count; i++) {
        struct provider_spec *spec = &specs[i];
        const struct etw_system_provider *system = etw_plan_system_provider(spec, kernel);
        if (system) {
            spec->guid = system->guid;
        } else if (spec->name.size) {
            etw_names_find(names, spec->name, &spec->guid);
        }
        struct guid guid = spec->guid;
        if (guid_is_zero(&guid) && !known_providers_guid(spec->name, &guid)) {
            guid = guid_from_name(spec->name);
        }
        ask_for_bits(&guid, system, &spec->any);
        ask_for_bits(&guid, system, &spec->all);
    }
    etw_names_destroy(names);
}

static struct schema_cache *create_cache(const struct app_config *config, bool no_builtin,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err)
{
    size_t count;
    const char **paths = app_config_schema_paths(config, &count);
    if (!paths) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    struct schema_cache_settings settings = {.sources = {.paths = paths,
                                                 .path_count = count,
                                                 .language = config->agent.language,
                                                 .warn = warn,
                                                 .warn_self = warn_self},
        .no_builtin = no_builtin};
    struct schema_cache *cache = schema_cache_create(&settings, err);
    free(paths);
    return cache;
}

struct schema_cache *app_providers_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err)
{
    return create_cache(config, true, warn, warn_self, err);
}

struct schema_cache *app_providers_all_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err)
{
    return create_cache(config, false, warn, warn_self, err);
}

/* Does anything need definitions: bits of keywords,
 * or the provider that a live session is to enable? */
static bool needs_definitions(const struct app_config *config, const struct app_session *session,
    const struct provider_spec *specs)
{
    bool has_folder = false;
    for (size_t i = 0; i < config->schema_count; i++) {
        has_folder = has_folder || config->schemas[i].type == APP_SCHEMA_FOLDER;
    }
    for (size_t i = 0; i < session->providers.count; i++) {
        bool is_unknown = session->ops->switches_on && specs[i].name.size &&
                          guid_is_zero(&specs[i].guid);
        if (specs[i].any.name_count || specs[i].all.name_count || (has_folder && is_unknown)) {
            return true;
        }
    }
    return false;
}

/* If neither this machine nor a definition has the GUID of a provider,
 * the known providers give it. */
static void take_known(const struct app_session *session, struct provider_spec *specs)
{
    for (size_t i = 0; i < session->providers.count; i++) {
        if (session->ops->switches_on && specs[i].name.size && guid_is_zero(&specs[i].guid)) {
            known_providers_guid(specs[i].name, &specs[i].guid);
        }
    }
}

bool app_providers_resolve(const struct app_config *config, const struct app_session *session,
    struct provider_spec *specs, struct error *err)
{
    size_t count = session->providers.count;
    if (session->ops->switches_on) {
        ask_machine(specs, count, session->ops->kernel);
    }
    if (!needs_definitions(config, session, specs)) {
        take_known(session, specs);
        return true;
    }
    struct provider_facts *facts = calloc(count, sizeof(*facts));
    if (!facts) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        facts[i].spec = &specs[i];
    }
    struct schema_cache *cache = app_providers_schemas(config, NULL, NULL, err);
    bool good = cache != NULL;
    if (good) {
        good = provider_names_find(cache, facts, count) ||
               error_set(err, ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count && good; i++) {
        good = put_bits(session, &facts[i], &specs[i], err);
        if (session->ops->switches_on && facts[i].found && guid_is_zero(&specs[i].guid)) {
            specs[i].guid = facts[i].guid;
        }
    }
    schema_cache_destroy(cache);
    free(facts);
    take_known(session, specs);
    return good;
}

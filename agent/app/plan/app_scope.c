#include "app/plan/app_scope.h"

#include <stdlib.h>

#include "base/grow.h"
#include "etw/enable/etw_enable.h"
#include "etw/etw_names.h"
#include "filter/push/filter_push.h"
#include "input/live/live_options.h"
#include "input/windows/etw_plan.h"

/*
 * What a provider writes is known best by the machine that the session runs on; from definitions in
 * files come the names and the payloads of the same events, or all of it where this machine says
 * nothing. Kernel providers, classic ones and those of WPP messages decide by their own code what
 * they write.
 */
enum { MAX_EVENTS = 65536 };

/* Events of one entry's provider. */
struct known {
    struct filter_push_event *events;
    size_t count;
    size_t capacity;
    bool is_classic;  /* MOF classes */
    bool is_manifest; /* all are of a manifest */
    bool failed;
};

struct gathering {
    const struct provider_spec *specs;
    struct known *known;
    size_t count;
};

const char *app_scope_hindrance(const struct app_session *session, const struct provider_spec *spec)
{
    struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                : (struct input_live){.session = NULL};
    if (etw_plan_system_provider(spec, session->ops->kernel)) {
        return "as the kernel chooses its events by keywords alone";
    }
    if (spec->classic || spec->wpp) {
        return "as classic and WPP providers choose by level and flags in their own code";
    }
    if (live.groups && !session->ops->kernel) {
        return "as the file must hold all events";
    }
    return live.session && live.session->push_down ? NULL : "as push_down is false";
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void add(struct known *known, const struct event_descriptor *d,
    const struct event_schema *schema, uint8_t unstated)
{
    if (known->count == MAX_EVENTS ||
        !grow_list(&known->events, known->count, &known->capacity, sizeof(*known->events))) {
        known->failed = true; /* half of it would be worse than nothing */
        return;
    }
    known->events[known->count++] = (struct filter_push_event){
        .descriptor = *d, .schema = schema, .unstated = unstated};
}

static bool is_of(const struct provider_spec *spec, const struct event_schema *schema)
{
    return (!guid_is_zero(&spec->guid) && guid_equal(&spec->guid, &schema->provider)) ||
           (spec->name.size && span_equal_nocase(spec->name, schema->provider_name));
}

static void look_at(void *self, const struct event_schema *schema)
{
    struct gathering *g = self;
    for (size_t i = 0; i < g->count; i++) {
        if (g->specs[i].group || !is_of(&g->specs[i], schema)) {
            continue;
        }
        struct known *known = &g->known[i];
        known->is_classic = known->is_classic || schema->kind == SCHEMA_MOF;
        known->is_manifest = known->is_manifest && schema->kind == SCHEMA_MANIFEST;
        add(known, &schema->descriptor, schema, schema->unstated);
    }
}

/* Events as this machine's manifest has them, which states all of a descriptor. */
static bool add_own(void *self, const struct event_descriptor *event)
{
    struct known *own = self;
    add(own, event, NULL, 0);
    return !own->failed;
}

static bool is_same_event(const struct event_descriptor *a, const struct event_descriptor *b)
{
    return a->id == b->id && a->version == b->version && a->channel == b->channel &&
           a->level == b->level && a->opcode == b->opcode && a->task == b->task &&
           a->keyword == b->keyword;
}

/* The machine's list takes the place of ${known}, whose definitions of the same events stay. */
static void ask_machine(const struct provider_spec *spec, struct known *known)
{
    struct known own = {.is_manifest = true};
    if (guid_is_zero(&spec->guid) || spec->group) {
        return;
    }
    etw_names_each_event(&spec->guid, add_own, &own);
    for (size_t i = 0; i < own.count; i++) {
        for (size_t k = 0; k < known->count && !own.events[i].schema; k++) {
            if (is_same_event(&own.events[i].descriptor, &known->events[k].descriptor)) {
                own.events[i].schema = known->events[k].schema;
            }
        }
    }
    if (own.count && !own.failed) {
        struct filter_push_event *before = known->events;
        *known = own;
        own.events = before;
    }
    free(own.events);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static bool copy_payload(
    const struct filter_push *push, struct arena *memory, struct provider_scope *scope)
{
    struct etw_payload_filter *filters = arena_alloc_array(
        memory, push->payload_count + 1, sizeof(*filters));
    for (size_t i = 0; filters && i < push->payload_count; i++) {
        const struct filter_push_payload *from = &push->payload[i];
        struct etw_payload_test *tests = arena_alloc_array(memory, from->count + 1, sizeof(*tests));
        for (size_t k = 0; tests && k < from->count; k++) {
            tests[k] = (struct etw_payload_test){
                from->tests[k].field, (uint16_t)from->tests[k].op, from->tests[k].value};
        }
        if (!tests) {
            return false;
        }
        filters[i] = (struct etw_payload_filter){.event = {.id = from->event.id,
                                                     .version = from->event.version,
                                                     .channel = from->event.channel,
                                                     .level = from->event.level,
                                                     .opcode = from->event.opcode,
                                                     .task = from->event.task,
                                                     .keyword = from->event.keyword},
            .match_any = from->any,
            .count = (uint16_t)from->count,
            .tests = tests};
    }
    scope->payload = filters;
    scope->payload_count = push->payload_count;
    return filters != NULL;
}

/* What logs from the kernel has no process that ETW would look at, though its events show one. */
static bool is_in_kernel(const struct provider_spec *spec)
{
    static const char prefix[] = "Microsoft-Windows-Kernel-";
    return span_equal_nocase(span_first(spec->name, sizeof(prefix) - 1), span_text(prefix));
}

/* As the entry has it, else as definitions have it. */
static struct span name_of(const struct provider_spec *spec, const struct known *known)
{
    struct span name = spec->name;
    for (size_t i = 0; i < known->count && name.size == 0; i++) {
        name = known->events[i].schema ? known->events[i].schema->provider_name : name;
    }
    return name;
}

/* What other events are told by comes whatever rules say, as far as the entry asks for it: starts
 * and ends of processes, images and rundowns of Microsoft-Windows-Kernel-Process, which process.*
 * of all events is made of. Levels and keywords are those of its manifest. */
static const struct filter_push_need of_processes[] = {
    {1, 4, 0x10}, {2, 4, 0x10}, {5, 4, 0x40}, {6, 4, 0x40}, {15, 4, 0x10}};

static const struct {
    const char *name;
    struct guid guid;
    const struct filter_push_need *needs;
    size_t count;
} needed[] = {
    {"Microsoft-Windows-Kernel-Process",
        {{0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7,
            0x16}},
        of_processes, sizeof(of_processes) / sizeof(of_processes[0])},
};

static void add_needs(const struct provider_spec *spec, struct filter_push_question *question)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (guid_equal(&spec->guid, &needed[i].guid) ||
            span_equal_nocase(spec->name, span_text(needed[i].name))) {
            question->needs = needed[i].needs;
            question->need_count = needed[i].count;
        }
    }
}

static bool make_scope(const struct app_scope_settings *settings, size_t index,
    struct provider_spec *spec, const struct known *known, struct error *err)
{
    const struct filter *every[8];
    struct filter_push push;
    struct filter_push_question question = {.every = every,
        .any = settings->outputs,
        .any_count = settings->output_count,
        .session = span_text(settings->session->name),
        .provider = spec->group ? span_make(NULL, 0) : name_of(spec, known),
        .is_manifest = known->is_manifest && known->count,
        .events = known->events,
        .event_count = known->count};
    for (size_t i = 0; i < settings->list_count && i < 7; i++) {
        every[question.every_count++] = settings->lists[i];
    }
    if (settings->entries[index]) {
        every[question.every_count++] = settings->entries[index];
    }
    if (question.every_count + question.any_count == 0) {
        return true;
    }
    if (question.is_manifest) { /* else events may have another one that they are decoded by */
        question.guid = spec->guid;
    }
    add_needs(spec, &question);
    struct provider_scope *scope = arena_alloc(settings->memory, sizeof(*scope));
    if (!scope) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    if (!filter_push_make(&question, settings->memory, &push, err)) {
        return false;
    }
    *scope = (struct provider_scope){.nothing = push.nothing,
        .level = push.level,
        .any = push.any,
        .all = push.all,
        .ids = push.id_count == FILTER_PUSH_IDS ? NULL : push.ids,
        .pid_count = is_in_kernel(spec) ? 0 : push.pid_count,
        .notes = push.notes,
        .left = push.left,
        .left_count = push.left_count,
        .id_count = push.id_count};
    memcpy(scope->pids, push.pids, sizeof(scope->pids));
    if (scope->pid_count < push.pid_count) {
        scope->notes |= FILTER_PUSH_SYSTEM_PIDS;
    }
    spec->scope = scope;
    return copy_payload(&push, settings->memory, scope) ||
           error_set(err, ERR_MEMORY, "out of memory for filters");
}

static bool has_rules(const struct app_scope_settings *settings, size_t count)
{
    bool any = settings->list_count + settings->output_count > 0;
    for (size_t i = 0; i < count && !any; i++) {
        any = settings->entries[i] != NULL;
    }
    return any;
}

bool app_scope_find(const struct app_scope_settings *settings, struct provider_spec *specs,
    size_t count, struct error *err)
{
    struct gathering g = {.specs = specs, .count = count};
    bool good = true;
    if (!has_rules(settings, count)) {
        return true;
    }
    g.known = calloc(count + 1, sizeof(*g.known));
    if (!g.known) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    for (size_t i = 0; i < count; i++) {
        g.known[i].is_manifest = true;
    }
    if (settings->definitions) {
        schema_cache_list(settings->definitions, look_at, &g);
    }
    for (size_t i = 0; i < count; i++) {
        ask_machine(&specs[i], &g.known[i]);
        if (good && !g.known[i].is_classic && !g.known[i].failed &&
            !app_scope_hindrance(settings->session, &specs[i])) {
            good = make_scope(settings, i, &specs[i], &g.known[i], err);
        }
        free(g.known[i].events);
    }
    free(g.known);
    return good;
}

bool app_scope_of_logs(const struct app_scope_settings *settings,
    const struct evt_scope **ret_scope, struct error *err)
{
    *ret_scope = NULL;
    if (settings->list_count + settings->output_count == 0) {
        return true;
    }
    /* Nothing is known of the sources, not even which levels they use. */
    const struct filter_push_question question = {.every = settings->lists,
        .every_count = settings->list_count,
        .any = settings->outputs,
        .any_count = settings->output_count,
        .session = span_text(settings->session->name),
        .is_log = true};
    struct filter_push push;
    struct evt_scope *scope = arena_alloc(settings->memory, sizeof(*scope));
    if (!scope) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    if (!filter_push_make(&question, settings->memory, &push, err)) {
        return false;
    }
    *scope = (struct evt_scope){
        .ids = push.id_count == FILTER_PUSH_IDS ? NULL : push.ids, .level = push.level};
    if (scope->ids || scope->level != EVT_SCOPE_EVERY_LEVEL) {
        *ret_scope = scope;
    }
    return true;
}

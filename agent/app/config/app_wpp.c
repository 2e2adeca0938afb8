#include "app/config/app_wpp.h"

#include <stdio.h>

#include "config/config_text.h"
#include "schema/wpp/wpp_control.h"

struct question {
    const struct config *memory;
    struct config_report *report;
    struct app_provider *provider;
    struct wpp_controls controls;
    struct span name;    /* name of the control, as the user gave it; empty: none, or a GUID */
    const char *unknown; /* the first flag that the best control does not know */
};

static bool is_number(const char *flag, uint64_t *ret_bits)
{
    return provider_spec_parse_bits(span_text(flag), ret_bits);
}

static size_t count_names(const struct app_provider *provider)
{
    uint64_t bits;
    size_t count = 0;
    for (size_t i = 0; i < provider->flags.count; i++) {
        count += !is_number(provider->flags.items[i], &bits);
    }
    return count;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void complain_of_file(const struct question *q, const char *what)
{
    config_error_at(
        q->memory, &q->provider->wpp, sizeof(q->provider->wpp), q->report, "wpp: %s", what);
}

/* "name guid, …" of all of them. */
static void list_controls(const struct question *q, struct config_names *names)
{
    for (const struct wpp_control *at = q->controls.first; at; at = at->next) {
        char text[GUID_TEXT_SIZE + 160];
        char guid[GUID_TEXT_SIZE];
        guid_write(&at->guid, guid);
        snprintf(text, sizeof(text), "%.*s%s%.36s", SPAN_ARG(span_first(at->name, 100)),
            at->name.size ? " " : "", guid);
        config_text_list(names, text);
    }
}

static bool is_named(const struct question *q, const struct wpp_control *control)
{
    const struct provider_spec *spec = &q->provider->spec;
    return q->name.size                 ? span_equal_nocase(q->name, control->name)
           : !guid_is_zero(&spec->guid) ? guid_equal(&spec->guid, &control->guid)
                                        : true;
}

/* Does a control before ${control} have the flag, too? */
static bool is_listed(const struct question *q, const struct wpp_control *control, struct span flag)
{
    const struct wpp_control *at = q->controls.first;
    while (at != control && !(is_named(q, at) && wpp_control_flag(at, flag))) {
        at = at->next;
    }
    return at != control;
}

static void complain_of_flag(struct question *q, const char *flag)
{
    struct config_names known = {0};
    struct config_nearest nearest = {.text = span_text(flag)};
    for (const struct wpp_control *at = q->controls.first; at; at = at->next) {
        for (size_t i = 0; i < at->flag_count && is_named(q, at); i++) {
            struct span copy;
            if (!is_listed(q, at, at->flags[i].name) &&
                arena_copy(&q->controls.arena, at->flags[i].name, &copy)) {
                config_text_list(&known, (const char *)copy.data);
                config_text_consider(&nearest, (const char *)copy.data);
            }
        }
    }
    const char *meant = config_text_meant(&nearest);
    config_error_at(q->memory, &q->provider->flags, sizeof(q->provider->flags), q->report,
        "flags: wpp names no flag %s. %s%s%sknown: %s", config_text_quote(span_text(flag)).text,
        meant ? "did you mean '" : "", meant ? meant : "", meant ? "'? " : "",
        known.size ? known.text : "none");
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* The number of named flags that ${control} has, and the first one that it does not have. */
static size_t count_known(const struct app_provider *provider, const struct wpp_control *control,
    const char **ret_unknown)
{
    size_t known = 0;
    *ret_unknown = NULL;
    for (size_t i = 0; i < provider->flags.count; i++) {
        uint64_t bits;
        const char *flag = provider->flags.items[i];
        if (is_number(flag, &bits)) {
            continue;
        }
        bool is_known = wpp_control_flag(control, span_text(flag)) != NULL;
        known += is_known;
        if (!is_known && !*ret_unknown) {
            *ret_unknown = flag;
        }
    }
    return known;
}

/* The control with most of the named flags, and how many have as many. */
static const struct wpp_control *choose(struct question *q, size_t *ret_equal)
{
    const struct wpp_control *best = NULL;
    size_t best_known = 0;
    *ret_equal = 0;
    for (const struct wpp_control *at = q->controls.first; at; at = at->next) {
        if (!is_named(q, at)) {
            continue;
        }
        const char *unknown;
        size_t known = count_known(q->provider, at, &unknown);
        if (best && known < best_known) {
            continue;
        }
        *ret_equal = best && known == best_known ? *ret_equal + 1 : 1;
        if (!best || known > best_known) {
            best = at;
            best_known = known;
            q->unknown = unknown;
        }
    }
    return best;
}

static void take(struct question *q, const struct wpp_control *control)
{
    struct provider_spec *spec = &q->provider->spec;
    spec->guid = control->guid;
    spec->name = span_make(NULL, 0);
    for (size_t i = 0; i < q->provider->flags.count; i++) {
        const struct wpp_flag *flag = wpp_control_flag(
            control, span_text(q->provider->flags.items[i]));
        spec->any.bits |= flag ? flag->bits : 0;
    }
}

/* The files have nothing with that name, or nothing at all. */
static void complain_of_none(const struct question *q)
{
    struct config_names names = {0};
    list_controls(q, &names);
    if (q->controls.count == 0) {
        complain_of_file(q, "it names no control GUID, nor does a .mof, .tmc or .pdb beside a "
                            ".tmf. name such a file, "
                            "or write flags as numbers, and name: GUID");
    } else {
        config_error_at(q->memory, &q->provider->text.name, sizeof(q->provider->text.name),
            q->report, "name: none of the control GUIDs that wpp names. those are: %s", names.text);
    }
}

static void complain_of_several(const struct question *q)
{
    struct config_names names = {0};
    list_controls(q, &names);
    config_error_at(q->memory, &q->provider->wpp, sizeof(q->provider->wpp), q->report,
        "wpp: its files have several control GUIDs that match. add name: one of %s", names.text);
}

/* The entry needs flags by name, or a GUID. */
static void answer(struct question *q, size_t names)
{
    size_t equal;
    const struct wpp_control *best = choose(q, &equal);
    if (!best) {
        if (names) {
            complain_of_none(q);
        }
    } else if (q->unknown) {
        complain_of_flag(q, q->unknown);
    } else if (equal == 1) {
        take(q, best);
    } else if (names) {
        complain_of_several(q);
    }
}

static void put_numbers(struct app_provider *provider)
{
    for (size_t i = 0; i < provider->flags.count; i++) {
        uint64_t bits;
        if (is_number(provider->flags.items[i], &bits)) {
            provider->spec.any.bits |= bits;
        }
    }
}

void app_wpp_check(struct config *memory, struct app_provider *provider, bool is_live,
    struct config_report *report)
{
    struct question q = {
        .memory = memory, .report = report, .provider = provider, .name = provider->spec.name};
    size_t names = count_names(provider);
    struct error err = {0};
    if (is_live || names == 0) {
        put_numbers(provider);
    }
    if (!is_live || (names == 0 && !guid_is_zero(&provider->spec.guid))) {
        return;
    }
    wpp_controls_init(&q.controls);
    if (wpp_controls_read(&q.controls, provider->wpp, &err)) {
        answer(&q, names);
    } else if (names) {
        complain_of_file(&q, err.text);
    }
    wpp_controls_fini(&q.controls);
}

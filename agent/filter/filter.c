#include "filter/filter.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/text/nearest.h"
#include "base/utf.h"
#include "filter/filter_index.h"
#include "filter/filter_plan.h"

enum { MAX_FILTER_BYTES = 64 * 1024 * 1024, MAX_FOLDED_BYTES = 2 * EVENT_VALUE_MAX_TEXT };

/* ---- creation -------------------------------------------------------------------------------- */

/* Compile a rule's action. */
static bool compile_action(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct filter_place *ret_place, struct error *err)
{
    code->action = rule->action;
    code->limit = rule->limit;
    code->window = rule->window;
    code->drops_unsure = rule->drops_unsure;
    if (!filter_action_decides(rule->action)) {
        return filter_edit_compile(filter, rule, code, ret_place, err);
    }
    if (rule->action == FILTER_ACTION_LIMIT || rule->action == FILTER_ACTION_ROLLUP) {
        return filter_key_compile(filter, rule, &code->key, ret_place, err);
    }
    if (rule->action != FILTER_ACTION_SAMPLE) {
        return true;
    }
    static const char *const by_activity[] = {"activity_id"};
    struct filter_rule by = *rule;
    if (by.field_count == 0) {
        by.fields = by_activity;
        by.field_count = 1;
    }
    code->most = UINT64_MAX / rule->every;
    return filter_key_compile(filter, &by, &code->key, ret_place, err);
}

static bool compile_rule(struct filter *filter, const struct filter_rule *rule,
    struct filter_code *code, struct filter_place *ret_place, struct error *err)
{
    struct span text;
    ret_place->offset = 0;
    if (rule->text.size > FILTER_MAX_TEXT_BYTES) {
        return error_set(
            err, ERR_LIMIT, "an expression has at most %d bytes", FILTER_MAX_TEXT_BYTES);
    }
    if (!arena_copy(&filter->arena, rule->text, &text) ||
        !arena_copy(&filter->arena, rule->name.size ? rule->name : rule->text, &code->name)) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    return filter_parse(filter, text, code, &ret_place->offset, err) &&
           compile_action(filter, rule, code, ret_place, err);
}

static bool compile_rules(struct filter *filter, const struct filter_rule *rules, size_t count,
    struct filter_place *ret_place, struct error *err)
{
    *ret_place = (struct filter_place){.rule = 0};
    if (count > FILTER_MAX_RULES) {
        return error_set(err, ERR_LIMIT, "more than %d rules in one list", FILTER_MAX_RULES);
    }
    filter->rules = arena_alloc_array(&filter->arena, count, sizeof(*filter->rules));
    atomic_uint_fast64_t *unsure = arena_alloc_array(&filter->arena, count, sizeof(*unsure));
    if (!filter->rules || !unsure) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    for (size_t i = 0; i < count; i++) {
        ret_place->rule = i;
        filter->rules[i].unsure = &unsure[i];
        if (!compile_rule(filter, &rules[i], &filter->rules[i], ret_place, err)) {
            return false;
        }
        filter->rule_count++;
    }
    return true;
}

/* True if a rule can drop events that earlier rules leave undecided by the header. */
static bool drops_early(const struct filter *filter)
{
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        if (!filter_action_decides(code->action)) {
            continue;
        }
        if (code->least_need > EVENT_PATH_RECORD) {
            return false;
        }
        if (code->action == FILTER_ACTION_DROP ||
            (code->action == FILTER_ACTION_SAMPLE && code->key.need == EVENT_PATH_RECORD)) {
            return true;
        }
    }
    return false;
}

/* A few header tests that differ from event to event are cheaper than a plan. */
static bool plans_help_header(const struct filter *filter)
{
    enum { FEW = 4 };
    size_t count = 0;
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        for (uint32_t k = 0; k < code->op_count; k++) {
            if (code->ops[k].need == EVENT_PATH_RECORD &&
                code->ops[k].scope == EVENT_PATH_OF_TYPE) {
                return true;
            }
        }
        count += code->op_count;
    }
    return count > FEW;
}

static bool is_plain(const struct filter *filter)
{
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        if (code->action != FILTER_ACTION_KEEP && code->action != FILTER_ACTION_DROP) {
            return false;
        }
        for (uint32_t k = 0; k < code->op_count; k++) {
            if (!code->ops[k].has_ranges || code->ops[k].need > EVENT_PATH_RECORD) {
                return false;
            }
        }
    }
    return true;
}

static void complete(struct filter *filter)
{
    static atomic_uint_fast64_t last_id;
    filter->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    filter->word_count = (filter->rule_count + 63) / 64;
    filter_index_make(filter);
    filter->drops_early = drops_early(filter);
    filter->is_plain = is_plain(filter);
    filter->plans_help[EVENT_PATH_RECORD] = plans_help_header(filter);
    filter->plans_help[EVENT_PATH_SCHEMA] = true;
    filter->plans_help[EVENT_PATH_EVENT] = true;
}

struct filter *filter_create(const struct filter_rule *rules, size_t count,
    struct filter_place *ret_place, struct error *err)
{
    struct filter *filter = calloc(1, sizeof(*filter));
    if (!filter) {
        error_set(err, ERR_MEMORY, "no memory left for filters");
        return NULL;
    }
    arena_init(&filter->arena, MAX_FILTER_BYTES);
    if (!compile_rules(filter, rules, count, ret_place, err)) {
        filter_destroy(filter);
        return NULL;
    }
    complete(filter);
    return filter;
}

void filter_destroy(struct filter *filter)
{
    if (!filter) {
        return;
    }
    for (struct filter_regex *regex = filter->regexes; regex; regex = regex->next) {
        pcre2_code_free(regex->code);
    }
    arena_fini(&filter->arena);
    free(filter);
}

size_t filter_rule_count(const struct filter *filter)
{
    return filter->rule_count;
}

enum filter_action filter_rule_action(const struct filter *filter, size_t rule)
{
    return filter->rules[rule].action;
}

const struct filter_limit *filter_rule_limit(
    const struct filter *filter, size_t rule, bool *ret_has_fields)
{
    *ret_has_fields = filter->rules[rule].key.count > 0;
    return &filter->rules[rule].limit;
}

uint64_t filter_rule_window(const struct filter *filter, size_t rule)
{
    return filter->rules[rule].window;
}

struct span filter_rule_name(const struct filter *filter, size_t rule)
{
    return filter->rules[rule].name;
}

uint64_t filter_rule_unsure(const struct filter *filter, size_t rule)
{
    return atomic_load_explicit(filter->rules[rule].unsure, memory_order_relaxed);
}

enum event_path_need filter_need(const struct filter *filter)
{
    uint8_t need = EVENT_PATH_RECORD;
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        need = code->need > need ? code->need : need;
        need = code->key.need > need ? code->key.need : need;
    }
    return (enum event_path_need)need;
}

/* ---- scratch --------------------------------------------------------------------------------- */

bool filter_scratch_init(
    struct filter_scratch *scratch, const struct codepage *ansi, struct error *err)
{
    /* Limits of one search: some milliseconds, and memory of its own. */
    enum {
        MATCH_LIMIT = 200000,
        HEAP_LIMIT_KB = 2048,
        FOLDED_ROOM = 256 * 1024,
        JIT_STACK_BYTES = 32 * 1024,
        MAX_JIT_STACK_BYTES = 1024 * 1024,
    };
    *scratch = (struct filter_scratch){.given_up = 0};
    buf_init(&scratch->folded, MAX_FOLDED_BYTES);
    if (!event_path_context_init(&scratch->paths, ansi, err)) {
        return false;
    }
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    scratch->match_limits = limits;
    scratch->match = pcre2_match_data_create(1, NULL);
    if (!limits || !scratch->match || !buf_reserve(&scratch->folded, FOLDED_ROOM)) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    pcre2_jit_stack *stack = pcre2_jit_stack_create(JIT_STACK_BYTES, MAX_JIT_STACK_BYTES, NULL);
    scratch->match_stack = stack;
    pcre2_jit_stack_assign(limits, NULL, stack); /* NULL: the library's default */
    pcre2_set_match_limit(limits, MATCH_LIMIT);
    pcre2_set_depth_limit(limits, MATCH_LIMIT);
    pcre2_set_heap_limit(limits, HEAP_LIMIT_KB);
    return true;
}

void filter_scratch_fini(struct filter_scratch *scratch)
{
    event_path_context_fini(&scratch->paths);
    buf_fini(&scratch->folded);
    filter_plans_destroy(scratch->plans);
    pcre2_match_data_free(scratch->match);
    pcre2_match_context_free(scratch->match_limits);
    pcre2_jit_stack_free(scratch->match_stack);
}

/* ---- display --------------------------------------------------------------------------------- */

void filter_position(struct span text, size_t offset, size_t *ret_line, size_t *ret_column)
{
    *ret_line = 1;
    *ret_column = 1;
    for (size_t at = 0; at < offset && at < text.size;) {
        uint32_t c = utf8_next(text, &at);
        *ret_line += c == '\n';
        *ret_column = c == '\n' ? 1 : *ret_column + 1;
    }
}

void filter_show_place(struct span text, size_t offset, struct buf *out)
{
    size_t start = offset < text.size ? offset : text.size;
    while (start > 0 && text.data[start - 1] != '\n') {
        start--;
    }
    size_t end = start;
    while (end < text.size && text.data[end] != '\n' && text.data[end] != '\r') {
        end++;
    }
    buf_add_text(out, "  ");
    for (size_t at = start; at < end; at++) {
        /* no control characters for terminals; one column each */
        uint8_t c = text.data[at];
        buf_add_byte(out, c < ' ' || c == 0x7f ? ' ' : c);
    }
    buf_add_text(out, "\n  ");
    for (size_t at = start; at < offset && at < end;) {
        utf8_next(text, &at);
        buf_add_byte(out, ' ');
    }
    buf_add_text(out, "^");
}

/* ---- payload fields -------------------------------------------------------------------------- */

/* Report ${path} if it is a payload field. */
static void hand_on(const struct event_path *path, struct span text,
    const struct filter_place *place, filter_field_fn *each, void *self)
{
    if (path->need == EVENT_PATH_EVENT && path->step_count) {
        struct filter_field field = {.place = *place, .path = text, .name = path->steps[0].name};
        each(self, &field);
    }
}

void filter_each_field(const struct filter *filter, filter_field_fn *each, void *self)
{
    for (size_t rule = 0; rule < filter->rule_count; rule++) {
        const struct filter_code *code = &filter->rules[rule];
        for (uint32_t i = 0; i < code->op_count; i++) {
            const struct filter_op *op = &code->ops[i];
            struct filter_place place = {.rule = rule, .offset = op->offset};
            hand_on(&op->path, op->path_text, &place, each, self);
        }
        for (uint32_t i = 0; i < code->key.count; i++) {
            struct filter_place place = {.rule = rule, .field = i + 1};
            hand_on(&code->key.paths[i], code->key.texts[i], &place, each, self);
        }
        for (uint32_t i = 0; i < code->edit_count; i++) {
            const struct event_edit *edit = &code->edits[i];
            struct filter_place place = {.rule = rule, .field = i + 1};
            if (edit->kind != EVENT_EDIT_SET) { /* set may add the field */
                hand_on(&edit->path, edit->path_text, &place, each, self);
            }
        }
    }
}

void filter_each_wanted(const struct filter *filter, filter_wanted_fn *each, void *self)
{
    for (size_t rule = 0; rule < filter->rule_count; rule++) {
        const struct filter_code *code = &filter->rules[rule];
        for (uint32_t i = 0; i < code->op_count; i++) {
            const struct filter_op *op = &code->ops[i];
            bool wants = (op->test == TEST_EQUAL || op->test == TEST_IN) && !op->inverted;
            for (uint32_t k = 0; wants && k < op->literal_count; k++) {
                if (op->literals[k].type == LITERAL_TEXT) {
                    struct filter_wanted wanted = {
                        .rule = rule, .path = op->path_text, .text = op->literals[k].text};
                    each(self, &wanted);
                }
            }
        }
    }
}

struct lookup {
    struct span name;
    struct nearest nearest;
    bool known;
};

static void consider(void *self, struct span name)
{
    static const size_t suffix_size = sizeof("_name") - 1;
    struct lookup *lookup = self;
    bool generated = lookup->name.size == name.size + suffix_size &&
                     span_equal(span_first(lookup->name, name.size), name) &&
                     span_is(span_from(lookup->name, name.size), "_name");
    lookup->known = lookup->known || generated || span_equal(name, lookup->name);
    if (!lookup->known) {
        nearest_consider(&lookup->nearest, name);
    }
}

bool filter_field_known(
    const struct filter_field *field, const struct filter_names *names, struct span *ret_meant)
{
    struct lookup lookup = {.name = field->name, .nearest = {.text = field->name}};
    names->each(names->self, consider, &lookup);
    if (!lookup.known) {
        *ret_meant = nearest_meant(&lookup.nearest);
    }
    return lookup.known;
}

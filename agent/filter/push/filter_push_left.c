#include "filter/push/filter_push_own.h"

/* Lists, for reports, which fields of rules ETW cannot evaluate, and why. */
enum { MAX_LEFT = 24 };

struct leftovers {
    struct filter_push_maker *maker;
    struct filter_push_left *list;
    size_t count;
};

/* True if a payload filter uses the field. */
static bool is_pushed(const struct filter_push *push, struct span name)
{
    for (size_t i = 0; i < push->payload_count; i++) {
        for (size_t k = 0; k < push->payload[i].count; k++) {
            if (span_is(name, push->payload[i].tests[k].field)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_by_case(const struct filter_op *op)
{
    for (uint32_t i = 0; i < op->literal_count; i++) {
        if (op->literals[i].type == LITERAL_TEXT && !op->literals[i].exact) {
            return false;
        }
    }
    return true;
}

static enum filter_push_why why_of_data(
    const struct filter_push_maker *maker, const struct filter_op *op)
{
    bool has_test = op->test <= TEST_CONTAINS && op->test != TEST_UNEQUAL;
    if (!has_test) {
        return FILTER_PUSH_NO_TEST;
    }
    if (!is_by_case(op)) {
        return FILTER_PUSH_BY_CASE;
    }
    return maker->kept_count && maker->question->is_manifest ? FILTER_PUSH_NOT_ALONE
                                                             : FILTER_PUSH_NO_DEFINITION;
}

/* False: ETW can evaluate it, or it is equal for all events of the provider. */
static bool find_why(const struct filter_push_maker *maker, const struct filter_op *op,
    enum filter_push_why *ret_why)
{
    const struct filter_fields *fields = &maker->asker.fields;
    uint8_t field = op->path.field;
    if (field == fields->data) {
        *ret_why = why_of_data(maker, op);
        return op->path.step_count == 0 || !is_pushed(maker->push, op->path.steps[0].name);
    }
    bool is_number = field == fields->code || field == fields->level || field == fields->pid;
    *ret_why = is_number && op->test == TEST_HAS ? FILTER_PUSH_NO_TEST : FILTER_PUSH_NO_FIELD;
    return field != fields->keywords && field != fields->session &&
           field != fields->provider_name && field != fields->provider_guid &&
           (!is_number || op->test == TEST_HAS);
}

static void add(void *self, const struct filter_op *op)
{
    struct leftovers *left = self;
    struct filter_push_left one;
    struct span path;
    if (left->count == MAX_LEFT || !find_why(left->maker, op, &one.why)) {
        return;
    }
    for (size_t i = 0; i < left->count; i++) {
        if (left->list[i].why == one.why && span_is(op->path_text, left->list[i].path)) {
            return;
        }
    }
    if (arena_copy(left->maker->arena, op->path_text, &path)) {
        one.path = (const char *)path.data;
        left->list[left->count++] = one;
    }
}

void filter_push_left(struct filter_push_maker *maker)
{
    struct leftovers left = {
        .maker = maker, .list = arena_alloc_array(maker->arena, MAX_LEFT, sizeof(*left.list))};
    if (left.list) {
        filter_push_each_op(maker, add, &left);
    }
    maker->push->left = left.list;
    maker->push->left_count = left.count;
}

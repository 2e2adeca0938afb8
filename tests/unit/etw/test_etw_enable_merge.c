#include "etw/enable/etw_enable.h"
#include "support/test.h"

/* A property of random pairs: every event that one of two requests would get, their union gets. The
 * test's model of a request follows the documentation of ENABLE_TRACE_PARAMETERS. */

static bool has_id(const struct etw_filter_ids *ids, uint16_t id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool has_text(const struct etw_filter_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

struct event {
    uint16_t id;
    uint8_t level;
    uint64_t keyword;
    uint32_t pid;
    const char *image;
    const char *name;
};

static bool passes_masks(
    const struct event *event, uint8_t level, uint64_t any, uint64_t all, bool drop_keyword_0)
{
    if (level != 0 && event->level > level) {
        return false;
    }
    if (event->keyword == 0) {
        return !drop_keyword_0;
    }
    return any == 0 || ((event->keyword & any) != 0 && (event->keyword & all) == all);
}

static bool passes(const struct etw_request *r, const struct event *event)
{
    bool pid_fits = r->pid_count == 0;
    for (size_t i = 0; i < r->pid_count; i++) {
        pid_fits = pid_fits || r->pids[i] == event->pid;
    }
    return passes_masks(event, r->level, r->any, r->all,
               (r->properties & ETW_ENABLE_IGNORE_KEYWORD_0) != 0) &&
           pid_fits && (!r->executables.count || has_text(&r->executables, event->image)) &&
           (!r->events.count || has_id(&r->events, event->id) != r->events.exclude) &&
           (!r->names.count || has_text(&r->names, event->name) != r->names.exclude);
}

static bool gets_stack(const struct etw_request *r, const struct event *event)
{
    bool filtered = r->stack_events.count || r->stack_names.count || r->stack_by_level;
    if (!filtered) {
        return (r->properties & ETW_ENABLE_STACK_TRACE) != 0;
    }
    return (!r->stack_events.count ||
               has_id(&r->stack_events, event->id) != r->stack_events.exclude) &&
           (!r->stack_names.count ||
               has_text(&r->stack_names, event->name) != r->stack_names.exclude) &&
           (!r->stack_by_level || passes_masks(event, r->stack_level, r->stack_any, r->stack_all,
                                      false) != r->stack_level_exclude);
}

/* ---- random requests ------------------------------------------------------------------------- */

static uint32_t seed = 12345;

static uint32_t pick(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static const char *const words[] = {"a", "b", "c", "d"};

static struct etw_filter_ids random_ids(void)
{
    struct etw_filter_ids ids = {.exclude = pick(2)};
    uint32_t count = pick(2) ? pick(4) : 0;
    while (ids.count < count) {
        ids.ids[ids.count++] = (uint16_t)pick(5);
    }
    return ids;
}

static struct etw_filter_texts random_texts(bool may_exclude)
{
    struct etw_filter_texts texts = {.exclude = may_exclude && pick(2)};
    uint32_t count = pick(2) ? pick(3) : 0;
    while (texts.count < count) {
        texts.texts[texts.count++] = words[pick(4)];
    }
    return texts;
}

static void make_random(struct etw_request *r)
{
    memset(r, 0, sizeof(*r));
    r->level = (uint8_t)pick(6);
    r->any = pick(8);
    r->all = pick(4) ? 0 : pick(8);
    r->properties = pick(3) ? 0 : ETW_ENABLE_STACK_TRACE;
    r->properties |= pick(2) ? ETW_ENABLE_IGNORE_KEYWORD_0 : 0;
    r->pid_count = (uint16_t)(pick(2) ? pick(3) : 0);
    r->pids[0] = 1 + pick(3);
    r->pids[1] = 1 + pick(3);
    r->executables = random_texts(false);
    r->events = random_ids();
    r->names = random_texts(true);
    if (pick(2)) {
        r->stack_events = random_ids();
        r->stack_names = random_texts(true);
        r->stack_by_level = pick(3) == 0;
        r->stack_level_exclude = pick(2);
        r->stack_level = (uint8_t)pick(6);
        r->stack_any = pick(8);
        r->stack_all = pick(3) ? 0 : pick(8);
    }
}

static void whatever_one_of_both_gets_the_union_gets(void **state)
{
    static struct etw_request a;
    static struct etw_request b;
    static struct etw_request both;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        make_random(&a);
        make_random(&b);
        both = a;
        etw_enable_merge(&both, &b);
        assert_true(etw_enable_check(&both, NULL));
        for (int i = 0; i < 40; i++) {
            struct event event = {.id = (uint16_t)pick(6),
                .level = (uint8_t)pick(7),
                .keyword = pick(8),
                .pid = 1 + pick(4),
                .image = words[pick(4)],
                .name = words[pick(4)]};
            if ((passes(&a, &event) || passes(&b, &event)) && !passes(&both, &event)) {
                fail_msg("round %d: id %u level %u keyword %u is lost", round, event.id,
                    event.level, (unsigned)event.keyword);
            }
            if ((gets_stack(&a, &event) || gets_stack(&b, &event)) && !gets_stack(&both, &event)) {
                fail_msg(
                    "round %d: the stack of id %u level %u is lost", round, event.id, event.level);
            }
        }
    }
}

/* ---- exact results --------------------------------------------------------------------------- */

static void masks_are_joined(void **state)
{
    static const struct {
        struct etw_request a, b, both;
    } rows[] = {
        {{.level = 4, .any = 1, .all = 3}, {.level = 2, .any = 2, .all = 6},
            {.level = 4, .any = 3, .all = 2}},
        {{.level = 0, .any = 1}, {.level = 2, .any = 2}, {.level = 255, .any = 3}},
        {{.level = 5, .any = 0}, {.level = 5, .any = 2, .all = 2}, {.level = 5}},
        {{.level = 1, .properties = 0x211, .timeout_ms = 5},
            {.level = 1, .properties = 0x0a2, .timeout_ms = 9},
            {.level = 1, .properties = 0x0a3, .timeout_ms = 9}},
        {{.level = 1, .properties = 0x210}, {.level = 1, .properties = 0x211},
            {.level = 1, .properties = 0x211}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_request both = rows[i].a;
        etw_enable_merge(&both, &rows[i].b);
        assert_int_equal(both.level, rows[i].both.level);
        assert_int_equal(both.any, rows[i].both.any);
        assert_int_equal(both.all, rows[i].both.all);
        assert_int_equal(both.properties, rows[i].both.properties);
        assert_int_equal(both.timeout_ms, rows[i].both.timeout_ms);
    }
}

static void ids_are_joined_only_if_both_have_them(void **state)
{
    static const struct {
        struct etw_filter_ids a, b, both;
    } rows[] = {
        {{.count = 2, .ids = {1, 2}}, {.count = 2, .ids = {2, 3}}, {.count = 3, .ids = {1, 2, 3}}},
        {{.count = 1, .ids = {1}}, {.count = 0}, {.count = 0}},
        {{.count = 0}, {.count = 1, .ids = {1}}, {.count = 0}},
        {{true, 2, {1, 2}}, {true, 2, {2, 3}}, {true, 1, {2}}},
        {{true, 1, {1}}, {true, 1, {2}}, {true, 0, {0}}},
        {{true, 2, {1, 2}}, {false, 1, {2}}, {true, 1, {1}}},
        {{false, 1, {2}}, {true, 2, {1, 2}}, {true, 1, {1}}},
        {{false, 2, {1, 2}}, {true, 2, {1, 2}}, {true, 0, {0}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etw_request both = {.events = rows[i].a};
        struct etw_request other = {.events = rows[i].b};
        etw_enable_merge(&both, &other);
        assert_int_equal(both.events.count, rows[i].both.count);
        assert_int_equal(
            both.events.count && both.events.exclude, rows[i].both.count && rows[i].both.exclude);
        for (size_t j = 0; j < both.events.count; j++) {
            assert_true(has_id(&rows[i].both, both.events.ids[j]));
        }
    }
}

/* If a rule of either entry wants a driver's events, they must come. */
static void pids_are_spare_if_they_are_in_either_request(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct etw_request a = {.pids_are_spare = (i & 1) != 0, .pid_count = 1, .pids = {7}};
        struct etw_request b = {.pids_are_spare = (i & 2) != 0, .pid_count = 1, .pids = {9}};
        etw_enable_merge(&a, &b);
        assert_int_equal(a.pid_count, 2);
        assert_int_equal(a.pids_are_spare, i != 0);
    }
}

static void what_outgrows_a_limit_is_no_filter_any_more(void **state)
{
    static struct etw_request a;
    static struct etw_request b;
    static char texts[300][4];
    (void)state;
    a.events.count = 40;
    b.events.count = 25;
    a.pid_count = 8;
    b.pid_count = 1;
    b.pids[0] = 99;
    a.names.count = 200;
    b.names.count = 57;
    for (uint16_t i = 0; i < 300; i++) {
        texts[i][0] = (char)('a' + i / 26);
        texts[i][1] = (char)('a' + i % 26);
        a.names.texts[i < 200 ? i : 0] = texts[i < 200 ? i : 0];
        b.names.texts[i < 57 ? i : 0] = texts[i < 57 ? i + 200 : 200];
        a.events.ids[i < 40 ? i : 0] = i < 40 ? i : 0;
        b.events.ids[i < 25 ? i : 0] = (uint16_t)(i < 25 ? i + 40 : 40);
        a.pids[i < 8 ? i : 0] = i < 8 ? i : 0;
    }
    etw_enable_merge(&a, &b);
    assert_int_equal(a.events.count, 0);
    assert_int_equal(a.pid_count, 0);
    assert_int_equal(a.names.count, 0);
}

static void payload_and_container_stay_only_if_they_are_the_same(void **state)
{
    struct etw_payload_filter payload = {.count = 1};
    struct etw_request a = {
        .payload = &payload, .payload_count = 1, .container = {.count = 1, .texts = {"x"}}};
    struct etw_request b = a;
    (void)state;
    etw_enable_merge(&a, &b);
    assert_int_equal(a.payload_count, 1);
    assert_int_equal(a.container.count, 1);
    b.payload_count = 0;
    b.container.texts[0] = "y";
    etw_enable_merge(&a, &b);
    assert_int_equal(a.payload_count, 0);
    assert_int_equal(a.container.count, 0);
}

static void stacks_are_wanted_if_one_of_both_wants_them(void **state)
{
    struct etw_request plain = {.level = 4};
    struct etw_request some = {.level = 4, .stack_events = {.count = 1, .ids = {3}}};
    struct etw_request every = {.level = 4, .properties = ETW_ENABLE_STACK_TRACE};
    struct etw_request both = plain;
    (void)state;
    etw_enable_merge(&both, &some);
    assert_int_equal(both.stack_events.count, 1);
    etw_enable_merge(&both, &plain);
    assert_int_equal(both.stack_events.count, 1);
    etw_enable_merge(&both, &every);
    assert_int_equal(both.stack_events.count, 0);
    assert_int_equal(both.properties, ETW_ENABLE_STACK_TRACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_one_of_both_gets_the_union_gets),
        cmocka_unit_test(masks_are_joined),
        cmocka_unit_test(ids_are_joined_only_if_both_have_them),
        cmocka_unit_test(pids_are_spare_if_they_are_in_either_request),
        cmocka_unit_test(what_outgrows_a_limit_is_no_filter_any_more),
        cmocka_unit_test(payload_and_container_stay_only_if_they_are_the_same),
        cmocka_unit_test(stacks_are_wanted_if_one_of_both_wants_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

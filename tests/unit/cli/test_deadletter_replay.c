#include "cli/text/deadletter_replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/fake_output.h"
#include "support/temp_folder.h"
#include "support/test.h"
#include "support/test_letters.h"

static char root[TEMP_FOLDER_BYTES];

struct rig {
    char path[2 * TEMP_FOLDER_BYTES];
    struct dead_letters *letters;
    struct fake_output *fake;
    struct fake_settings settings;
    struct app_output output;
    struct deadletter_replay_counts counts;
    struct error err;
};

static bool wants_all(const void *self, const struct dead_letter *letter)
{
    (void)self;
    (void)letter;
    return true;
}

static bool wants_odd(const void *self, const struct dead_letter *letter)
{
    (void)self;
    return letter->id % 2 == 1;
}

static void setup(struct rig *rig, const char *name, const struct fake_step *steps, size_t count)
{
    *rig = (struct rig){.fake = fake_output_create(steps, count)};
    snprintf(rig->path, sizeof(rig->path), "%s/%s.db", root, name);
    rig->letters = test_letters_create(rig->path);
    rig->settings.fake = rig->fake;
    rig->output = (struct app_output){
        .name = "siem", .ops = &fake_output_ops, .settings = &rig->settings};
}

static void teardown(struct rig *rig)
{
    assert_int_equal(fake_output_counts(rig->fake).misused, 0);
    assert_int_equal(
        fake_output_counts(rig->fake).destroyed, fake_output_counts(rig->fake).created);
    fake_output_destroy(rig->fake);
    dead_letters_destroy(rig->letters);
}

static void put(
    struct rig *rig, const char *output, const char *document, const char *id, const char *route)
{
    const struct dead_letter letter = {.time = 1,
        .output = span_text(output),
        .document = span_text(document),
        .document_id = span_text(id),
        .route = span_text(route)};
    assert_true(rig->letters->ops->put(rig->letters, &letter, 1, NULL));
}

static bool run(struct rig *rig, bool (*wants)(const void *self, const struct dead_letter *letter))
{
    const struct deadletter_replay replay = {
        .output = &rig->output, .letters = rig->letters, .wants = wants};
    return deadletter_replay_run(&replay, &rig->counts, &rig->err);
}

static bool add_id(void *self, const struct dead_letter *letter)
{
    buf_printf(self, "%llu ", (unsigned long long)letter->id);
    return true;
}

static void assert_left(const struct rig *rig, const char *expected)
{
    struct buf ids;
    buf_init(&ids, 1 << 20);
    assert_true(rig->letters->ops->each(rig->letters, add_id, &ids, NULL));
    assert_span(buf_span(&ids), expected);
    buf_fini(&ids);
}

static void assert_arrived(const struct rig *rig, const char *expected)
{
    char *text = fake_output_text(rig->fake);
    assert_string_equal(text, expected);
    free(text);
}

static void letters_of_the_output_are_delivered_and_removed(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "all", NULL, 0);
    rig.settings.ids = true;
    put(&rig, "siem", "{\"a\":1}", "00ff", "");
    put(&rig, "other", "{\"b\":1}", "00ff", "");
    put(&rig, "siem", "{\"c\":1}", "0100", "");
    assert_true(run(&rig, wants_all));
    assert_arrived(&rig, "{\"a\":1}\t00ff\n{\"c\":1}\t0100\n");
    assert_left(&rig, "2 ");
    assert_int_equal(rig.counts.delivered, 2);
    /* It is unknown whether it arrived before. */
    assert_int_equal(fake_output_counts(rig.fake).sends, 1);
    assert_int_equal(fake_output_counts(rig.fake).repeated, 1);
    teardown(&rig);
}

static void some_can_be_chosen(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "some", NULL, 0);
    for (int i = 0; i < 5; i++) {
        put(&rig, "siem", "{}", "", "");
    }
    assert_true(run(&rig, wants_odd));
    assert_left(&rig, "2 4 ");
    teardown(&rig);
}

/* A delivery has ids or has none, and an invalid id is not passed on. */
static void letters_without_an_id_go_in_deliveries_of_their_own(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "ids", NULL, 0);
    rig.settings.ids = true;
    put(&rig, "siem", "{\"a\":1}", "00ff", "");
    put(&rig, "siem", "{\"b\":1}", "", "");
    put(&rig, "siem", "{\"c\":1}", "\"},{", "");
    put(&rig, "siem", "{\"d\":1}", "0000000000000000000000000000000000000000000000000000000000000",
        "");
    put(&rig, "siem", "{\"e\":1}", "0100", "");
    assert_true(run(&rig, wants_all));
    assert_int_equal(fake_output_counts(rig.fake).sends, 3);
    assert_arrived(&rig, "{\"a\":1}\t00ff\n{\"b\":1}\n{\"c\":1}\n{\"d\":1}\n{\"e\":1}\t0100\n");
    assert_left(&rig, "");
    teardown(&rig);
}

static void an_output_that_wants_no_ids_gets_none(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "noids", NULL, 0);
    put(&rig, "siem", "{\"a\":1}", "00ff", "");
    assert_true(run(&rig, wants_all));
    assert_arrived(&rig, "{\"a\":1}\n");
    teardown(&rig);
}

static void letters_go_where_they_were_routed(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "routes", NULL, 0);
    rig.settings.route = "etw-{provider.name}";
    put(&rig, "siem", "{\"a\":1}", "", "etw-one");
    put(&rig, "siem", "{\"b\":1}", "", "etw-two");
    assert_true(run(&rig, wants_all));
    assert_arrived(&rig, "etw-one\t{\"a\":1}\netw-two\t{\"b\":1}\n");
    teardown(&rig);
}

/* The output had one route for all events when they were refused. */
static void letters_without_a_route_stay_where_the_output_needs_one(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "unplaced", NULL, 0);
    rig.settings.route = "etw-{provider.name}";
    put(&rig, "siem", "{\"a\":1}", "", "etw-one");
    put(&rig, "siem", "{\"b\":1}", "", "");
    put(&rig, "siem", "{\"c\":1}", "", "etw-two");
    put(&rig, "siem", "{\"d\":1}", "00ff", "");
    put(&rig, "siem", "", "", "");
    assert_true(run(&rig, wants_all));
    assert_arrived(&rig, "etw-one\t{\"a\":1}\netw-two\t{\"c\":1}\n");
    assert_left(&rig, "2 4 5 ");
    assert_int_equal(rig.counts.delivered, 2);
    assert_int_equal(rig.counts.unplaced, 2);
    assert_int_equal(rig.counts.first_unplaced, 2);
    assert_int_equal(rig.counts.skipped, 1);
    /* With one route for all they go there. */
    rig.settings.route = NULL;
    assert_true(run(&rig, wants_all));
    assert_left(&rig, "5 ");
    assert_int_equal(rig.counts.unplaced, 0);
    teardown(&rig);
}

static void what_is_refused_again_stays(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 5, .rejects = 2}};
    struct rig rig;
    setup(&rig, "again", steps, 1);
    for (int i = 0; i < 3; i++) {
        put(&rig, "siem", "{}", "", "");
    }
    assert_true(run(&rig, wants_all));
    assert_left(&rig, "2 ");
    assert_int_equal(rig.counts.delivered, 2);
    assert_int_equal(rig.counts.refused, 1);
    teardown(&rig);
}

static void the_first_failure_ends_it_and_what_arrived_is_removed(void **state)
{
    (void)state;
    static const struct {
        struct fake_step steps[2];
        size_t count;
        const char *left;
    } cases[] = {{{{.refuses_connect = true}}, 1, "1 2 3 "},
        {{{.verdict = OUTPUT_RETRY}}, 1, "1 2 3 "},
        {{{.verdict = OUTPUT_RETRY, .degraded = true}}, 1, "1 2 3 "},
        {{{.verdict = OUTPUT_MIXED, .delivers = 1}}, 1, "2 3 "},
        {{{.verdict = OUTPUT_FATAL, .closed = true}}, 1, "1 2 3 "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        char name[16];
        snprintf(name, sizeof(name), "fails%zu", i);
        setup(&rig, name, cases[i].steps, cases[i].count);
        for (int k = 0; k < 3; k++) {
            put(&rig, "siem", "{}", "", "");
        }
        assert_false(run(&rig, wants_all));
        assert_true(strstr(rig.err.text, "siem") != NULL);
        assert_left(&rig, cases[i].left);
        /* And again, now that the output works. */
        assert_true(run(&rig, wants_all));
        assert_left(&rig, "");
        teardown(&rig);
    }
}

static void many_letters_go_in_batches(void **state)
{
    (void)state;
    enum { LETTERS = 1234 };
    struct rig rig;
    setup(&rig, "many", NULL, 0);
    for (int i = 0; i < LETTERS; i += 2) {
        const struct dead_letter two[] = {
            {.time = 1, .output = span_text("siem"), .document = span_text("{}")},
            {.time = 1, .output = span_text("siem"), .document = span_text("{\"x\":1}")}};
        assert_true(rig.letters->ops->put(rig.letters, two, 2, NULL));
    }
    assert_true(run(&rig, wants_all));
    assert_int_equal(rig.counts.delivered, LETTERS);
    assert_int_equal(fake_output_counts(rig.fake).sends, 3);
    assert_left(&rig, "");
    teardown(&rig);
}

static void a_letter_without_its_document_is_left(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "empty", NULL, 0);
    put(&rig, "siem", "", "", "");
    put(&rig, "siem", "{}", "", "");
    assert_true(run(&rig, wants_all));
    assert_int_equal(rig.counts.skipped, 1);
    assert_left(&rig, "1 ");
    teardown(&rig);
}

static int make_root(void **state)
{
    (void)state;
    return temp_folder_make(root, "replay");
}

static int remove_root(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_the_output_are_delivered_and_removed),
        cmocka_unit_test(some_can_be_chosen),
        cmocka_unit_test(letters_without_an_id_go_in_deliveries_of_their_own),
        cmocka_unit_test(an_output_that_wants_no_ids_gets_none),
        cmocka_unit_test(letters_go_where_they_were_routed),
        cmocka_unit_test(letters_without_a_route_stay_where_the_output_needs_one),
        cmocka_unit_test(what_is_refused_again_stays),
        cmocka_unit_test(the_first_failure_ends_it_and_what_arrived_is_removed),
        cmocka_unit_test(many_letters_go_in_batches),
        cmocka_unit_test(a_letter_without_its_document_is_left),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}

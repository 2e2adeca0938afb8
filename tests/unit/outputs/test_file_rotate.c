#include "outputs/file/file_rotate.h"

#include "platform/plat_clock.h"
#include "unit/outputs/file_rig.h"

/* Rotation through the output itself. */

static void no_file_grows_beyond_its_size_even_within_a_batch(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 4}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.1", "1\n2\n");
    assert_content("e.2", "3\n4\n");
    assert_content("e", "5\n");
    /* A line that is too long by itself gets a file of its own. */
    assert_int_equal(send_lines(&f, "too long\n6\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.3", "5\n");
    assert_content("e.4", "too long\n");
    assert_content("e", "6\n");
    fini(&f);
}

static void numbers_go_on_behind_those_that_are_there(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2}}");
    static const char *const others[] = {"e.7.gz", "e.3", "e.x", "e.08", "e.9.bak", "e."};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, others[i]);
        fclose(fopen(path, "wb"));
    }
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.8", "1\n");
    assert_content("e.9", "2\n");
    assert_content("e", "3\n");
    fini(&f);
}

/* A file of another program has the highest possible number: then that file comes after ours. */
static void the_highest_number_is_used_and_none_beyond_it(void **state)
{
    (void)state;
    static const struct {
        const char *theirs;
        const char *ours;
    } cases[] = {{"e.999999999998", "e.999999999999"}, {"e.999999999999", "e.1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        char path[256];
        open_output(&f, "{path: '%s/e', rotate: {size: 2}}");
        snprintf(path, sizeof(path), "%s/%s", folder, cases[i].theirs);
        assert_true(plat_file_replace(path, span_text("theirs"), NULL));
        assert_int_equal(send_lines(&f, "1\n2\n", NULL), OUTPUT_DELIVERED);
        assert_content(cases[i].ours, "1\n");
        assert_content(cases[i].theirs, "theirs");
        fini(&f);
    }
}

/* A checkpoint has room for this many bytes: 2 for the length of a path, the path, 8 for its
 * number, and 2 for the end. */
static void chores_are_stored_as_long_as_there_is_room(void **state)
{
    (void)state;
    static const struct file_rotation rules = {.keep = 1};
    static const char *const paths[] = {"a", "bb"};
    static const struct {
        size_t max_bytes;
        size_t size;
    } cases[] = {{12, 2}, {13, 13}, {24, 13}, {25, 25}, {100, 25}};
    struct event_template *template = event_template_create(
        span_text("{provider.name}"), EVENT_TEMPLATE_PATH, NULL);
    struct file_rotator rotator;
    file_rotator_init(&rotator, &rules, NULL, template);
    for (size_t i = 0; i < 2; i++) {
        char path[4];
        snprintf(path, sizeof(path), "%s", paths[i]);
        file_rotator_began(&rotator, &(struct file_entry){.path = path});
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 1000);
        file_rotator_save(&rotator, cases[i].max_bytes, &out);
        assert_int_equal(out.size, cases[i].size);
        buf_fini(&out);
    }
    file_rotator_fini(&rotator);
    event_template_destroy(template);
}

/* A file that was left out is found again when the folder is read next. */
static void chores_are_remembered_up_to_a_limit(void **state)
{
    (void)state;
    static const struct file_rotation rules = {.keep = 1};
    struct event_template *template = event_template_create(
        span_text("{provider.name}"), EVENT_TEMPLATE_PATH, NULL);
    struct file_rotator rotator;
    char path[] = "e";
    file_rotator_init(&rotator, &rules, NULL, template);
    for (size_t i = 0; i < 10001; i++) {
        file_rotator_began(&rotator, &(struct file_entry){.path = path});
    }
    assert_int_equal(rotator.count, 10000);
    file_rotator_fini(&rotator);
    event_template_destroy(template);
}

/* Do all remaining chores. One call takes no longer than a pause between two deliveries may. */
static void finish_chores(struct fixture *f)
{
    size_t calls = 0;
    while (output_file.idle(f->self) != UINT64_MAX) {
        assert_true(++calls < 1000);
    }
}

static void rotated_files_are_compressed_in_the_end(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    finish_chores(&f);
    assert_content("e.1.gz", "1\n");
    assert_content("e.2.gz", "2\n");
    assert_content("e", "3\n");
    assert_int_equal(files_in_folder(), 3);
    assert_int_equal(send_lines(&f, "4\n", NULL), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("e.3.gz", "3\n");
    assert_int_equal(files_in_folder(), 4);
}

static void it_says_when_there_is_more_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool refuses; /* so that files cannot be compressed yet */
        bool again;
    } cases[] = {{"{path: '%s/e'}", false, false},
        {"{path: '%s/e', rotate: {size: 2, gzip: true}}", false, false},
        {"{path: '%s/e', rotate: {size: 2, gzip: true}}", true, true},
        {"{path: '%s/e', rotate: {age: 500d}}", false, true}};
    const uint64_t minute_ns = UINT64_C(60000000000); /* the clock may be set during the test */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        open_output(&f, cases[i].yaml);
        assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
        f.refuses = cases[i].refuses;
        uint64_t before = plat_monotonic_ns();
        if (cases[i].again) {
            uint64_t due = output_file.idle(f.self);
            assert_true(due > before && due <= plat_monotonic_ns() + minute_ns);
        } else {
            finish_chores(&f);
        }
        fini(&f);
    }
}

static void nothing_is_made_for_good_before_the_checkpoint_is_stored(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, gzip: true, keep: 1}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    output_file.idle(f.self);
    assert_string_equal(f.warned, "no");
    assert_content("e.1", "1\n");
    assert_content("e.2", "2\n");
    f.refuses = false;
    finish_chores(&f);
    assert_int_equal(files_in_folder(), 2);
    assert_content("e.2.gz", "2\n");
    fini(&f);
}

static void what_a_run_before_left_is_compressed_by_the_next(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const old[] = {"2025/e"};
    static const char *const next[] = {"2026/e", "2026/e"};
    const char *yaml = "{path: '%s/%%Y/e', rotate: {size: 2, gzip: true}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n", old), OUTPUT_DELIVERED);
    assert_int_equal(send_lines(&f, "2\n", old), OUTPUT_DELIVERED);
    struct error err;
    assert_true(store(&f, &err));
    f.refuses = true; /* so that the end does not compress it */
    close_output(&f);
    assert_true(is_there("2025/e.1"));
    f.refuses = false;
    struct buf checkpoint = f.stored;
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, yaml, buf_span(&checkpoint));
    buf_fini(&checkpoint);
    assert_int_equal(send_lines(&f, "3\n4\n", next), OUTPUT_DELIVERED);
    fini(&f);
    assert_content("2025/e.1.gz", "1\n");
    assert_content("2026/e.1.gz", "3\n");
    assert_int_equal(files_in_folder(), 4);
}

/* All events are delivered, so the host never connects: half-done chores are completed all the
 * same. */
static void a_run_without_events_completes_what_was_left(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    const char *yaml = "{path: '%s/e', rotate: {size: 2, gzip: true}}";
    open_output(&f, yaml);
    assert_int_equal(send_lines(&f, "1\n2\n", NULL), OUTPUT_DELIVERED);
    assert_true(store(&f, &err));
    assert_int_equal(send_lines(&f, "3\n", NULL), OUTPUT_DELIVERED);
    f.refuses = true;
    close_output(&f);
    assert_true(is_there("e.1"));
    f.refuses = false;
    f.connects_late = true;
    struct buf checkpoint = f.stored;
    buf_init(&f.stored, OUTPUT_CHECKPOINT_MAX_BYTES);
    open_again(&f, yaml, buf_span(&checkpoint));
    buf_fini(&checkpoint);
    fini(&f);
    assert_content("e.1.gz", "1\n");
    assert_content("e", "2\n");
    assert_int_equal(files_in_folder(), 2);
}

static void only_the_newest_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {size: 2, keep: 2}}");
    assert_int_equal(
        send_lines(&f, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", NULL), OUTPUT_DELIVERED);
    finish_chores(&f);
    assert_content("e.10", "10\n");
    assert_content("e.11", "11\n");
    assert_content("e", "12\n");
    assert_int_equal(files_in_folder(), 3);
    fini(&f);
}

static void each_family_keeps_its_own_over_all_times(void **state)
{
    (void)state;
    struct fixture f;
    /* Not in the order of the text: the newest is the newest by year, month and day. */
    static const char *const routes[] = {"a/01-02-2026.e", "a/02-01-2026.e", "a/03-12-2025.e",
        "a/31-12-2024.e", "b/01-01-2001.e", "a/01-03-2026.e"};
    static const char *const now[] = {"a/05-03-2026.e"};
    open_output(&f, "{path: '%s/{provider.name}/%%d-%%m-%%Y.e', rotate: {keep: 3}}");
    assert_int_equal(send_lines(&f, "1\n2\n3\n4\n5\n6\n", routes), OUTPUT_DELIVERED);
    output_file.idle(f.self);
    assert_int_equal(files_in_folder(), 6); /* all of them are open */
    output_file.disconnect(f.self);
    struct error err;
    assert_true(output_file.connect(f.self, &err));
    assert_int_equal(send_lines(&f, "7\n", now), OUTPUT_DELIVERED);
    finish_chores(&f);
    assert_true(is_there("a/05-03-2026.e"));
    assert_true(is_there("a/01-03-2026.e"));
    assert_true(is_there("a/01-02-2026.e"));
    assert_true(is_there("a/02-01-2026.e"));
    assert_true(is_there("b/01-01-2001.e"));
    assert_int_equal(files_in_folder(), 5);
    fini(&f);
}

static void an_old_file_is_set_aside_without_an_event(void **state)
{
    (void)state;
    struct fixture f;
    open_output(&f, "{path: '%s/e', rotate: {age: 1ms}}");
    assert_int_equal(send_lines(&f, "1\n", NULL), OUTPUT_DELIVERED);
    while (!is_there("e.1")) {
        output_file.idle(f.self); /* until it is a millisecond old */
    }
    assert_false(is_there("e"));
    output_file.idle(f.self);
    assert_int_equal(send_lines(&f, "2\n", NULL), OUTPUT_DELIVERED);
    assert_content("e.1", "1\n");
    fini(&f);
}

/* Between two runs another program has put a file in the place of ours. */
static void an_old_file_that_is_not_known_is_left_alone(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const routes[] = {"a.e", "b.e"};
    open_output(&f, "{path: '%s/{provider.name}.e', rotate: {age: 1h}}");
    assert_int_equal(send_lines(&f, "1\n2\n", routes), OUTPUT_DELIVERED);
    assert_true(store(&f, NULL));
    close_output(&f);
    char path[256];
    snprintf(path, sizeof(path), "%s/a.e", folder);
    assert_true(plat_file_replace(path, span_text("theirs"), NULL));
    open_again(&f, "{path: '%s/{provider.name}.e', rotate: {age: 1ms}}", buf_span(&f.stored));
    while (!is_there("b.e.1")) {
        output_file.idle(f.self); /* until it is a millisecond old */
    }
    assert_content("a.e", "theirs");
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_grows_beyond_its_size_even_within_a_batch),
        cmocka_unit_test(numbers_go_on_behind_those_that_are_there),
        cmocka_unit_test(the_highest_number_is_used_and_none_beyond_it),
        cmocka_unit_test(chores_are_stored_as_long_as_there_is_room),
        cmocka_unit_test(chores_are_remembered_up_to_a_limit),
        cmocka_unit_test(rotated_files_are_compressed_in_the_end),
        cmocka_unit_test(it_says_when_there_is_more_to_do),
        cmocka_unit_test(nothing_is_made_for_good_before_the_checkpoint_is_stored),
        cmocka_unit_test(what_a_run_before_left_is_compressed_by_the_next),
        cmocka_unit_test(a_run_without_events_completes_what_was_left),
        cmocka_unit_test(only_the_newest_are_kept),
        cmocka_unit_test(each_family_keeps_its_own_over_all_times),
        cmocka_unit_test(an_old_file_is_set_aside_without_an_event),
        cmocka_unit_test(an_old_file_that_is_not_known_is_left_alone),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

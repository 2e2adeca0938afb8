#include "app/positions.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/positions_state.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char root[TEMP_FOLDER_BYTES];
static char folder[TEMP_FOLDER_BYTES + 16];
static char state_path[sizeof(folder) + 16];
static struct error err;

static const uint8_t file_a[16] = {0xaa, 1, 2, 3};
static const uint8_t file_b[16] = {0xbb, 0xff};

static int setup(void **state)
{
    (void)state;
    return temp_folder_make(root, "positions");
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

/* A data folder of its own for every test. */
static int begin(void **state)
{
    (void)state;
    static int number;
    snprintf(folder, sizeof(folder), "%s/deep/%d", root, number++);
    snprintf(state_path, sizeof(state_path), "%s/state", folder);
    memset(&err, 0, sizeof(err));
    return 0;
}

static struct positions *open_or_fail(const struct positions_hooks *hooks)
{
    struct positions *p = positions_open(folder, hooks, &err);
    if (!p) {
        fail_msg("%s", err.text);
    }
    return p;
}

static struct position position_of(uint64_t sequence)
{
    struct position position = {.sequence = sequence,
        .record = {.buffer_offset = sequence * 65536, .record_offset = (uint32_t)sequence + 72}};
    memcpy(position.record.file_id, file_a, sizeof(file_a));
    return position;
}

static void ack(struct positions *p, const char *session, const char *output, uint64_t sequence)
{
    struct position position = position_of(sequence);
    char checkpoint[32];
    int size = snprintf(checkpoint, sizeof(checkpoint), "%s at %d", output, (int)sequence);
    assert_true(
        positions_ack(p, session, output, &position, span_make(checkpoint, (size_t)size), &err));
}

static void assert_at(
    const struct positions *p, const char *session, const char *output, uint64_t sequence)
{
    struct position expected = position_of(sequence);
    struct position found = {.sequence = 77};
    char checkpoint[32];
    assert_true(positions_find(p, session, output, &found));
    assert_int_equal(found.sequence, sequence);
    assert_memory_equal(found.record.file_id, expected.record.file_id, 16);
    assert_int_equal(found.record.buffer_offset, expected.record.buffer_offset);
    assert_int_equal(found.record.record_offset, expected.record.record_offset);
    snprintf(checkpoint, sizeof(checkpoint), "%s at %d", output, (int)sequence);
    assert_span(positions_checkpoint(p, output), checkpoint);
}

static bool is_done(struct positions *p, const char *session, const uint8_t *id)
{
    uint64_t sequence = 99;
    bool done = positions_is_done(p, session, id, &sequence);
    assert_int_equal(sequence, done ? 7 : 99);
    return done;
}

static void write_file(const char *path, struct span bytes)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, bytes, &err));
    plat_file_close(file);
}

static bool count_one(void *self, const char *path)
{
    (void)path;
    *(size_t *)self += 1;
    return true;
}

static size_t count_damaged(void)
{
    size_t count = 0;
    char pattern[sizeof(folder) + 32];
    snprintf(pattern, sizeof(pattern), "%s/state.damaged-*", folder);
    plat_glob(pattern, count_one, &count, NULL);
    return count;
}

static void a_new_folder_knows_nothing(void **state)
{
    (void)state;
    struct position position = {.sequence = 77};
    struct positions *p = open_or_fail(NULL);
    assert_null(positions_notice(p));
    assert_false(positions_find(p, "s", "o", &position));
    assert_int_equal(position.sequence, 77);
    assert_int_equal(positions_checkpoint(p, "o").size, 0);
    assert_int_equal(positions_source(p, "s").size, 0);
    assert_false(is_done(p, "s", file_a));
    assert_true(positions_save(p, &err)); /* nothing to write */
    assert_int_equal(plat_path_kind(state_path), PLAT_PATH_NONE);
    positions_close(p);
    positions_close(NULL);
}

/* An input's state: the bytes of the span. */
static bool give_state(void *self, struct buf *out, struct error *error)
{
    const struct span *bytes = self;
    buf_add_span(out, *bytes);
    return !out->failed || error_set(error, ERR_LIMIT, "too long");
}

static void what_was_saved_is_found_again(void **state)
{
    (void)state;
    static const char *const names[] = {
        "plain", "with space\n%41", "\xc3\xa4\x01\xff", "100%", "a.b-c_D9"};
    struct positions *p = open_or_fail(NULL);
    for (size_t i = 0; i < 5; i++) {
        ack(p, names[i], names[4 - i], i + 1);
        ack(p, names[i], "shared", 10 * i + 1);
    }
    uint8_t blob[256];
    for (size_t i = 0; i < sizeof(blob); i++) {
        blob[i] = (uint8_t)i;
    }
    struct span whole = span_make(blob, sizeof(blob));
    assert_true(positions_watch_source(p, names[1], give_state, &whole, &err));
    assert_true(positions_finish(p, names[2], file_a, 7, &err));
    assert_true(positions_finish(p, names[2], file_a, 7, &err));
    assert_true(positions_finish(p, names[2], file_b, 7, &err));
    struct position last = {.sequence = UINT64_MAX,
        .record = {.buffer_offset = UINT64_MAX, .record_offset = UINT32_MAX}};
    assert_true(positions_ack(p, "limits", "o", &last, span_make(NULL, 0), &err));
    assert_true(positions_save(p, &err));
    positions_close(p);

    p = open_or_fail(NULL);
    assert_null(positions_notice(p));
    for (size_t i = 0; i < 5; i++) {
        assert_at(p, names[i], names[4 - i], i + 1);
    }
    assert_at(p, names[4], "shared", 41);
    struct span source = positions_source(p, names[1]);
    assert_int_equal(source.size, sizeof(blob));
    assert_memory_equal(source.data, blob, sizeof(blob));
    assert_true(is_done(p, names[2], file_a));
    assert_true(is_done(p, names[2], file_b));
    assert_false(is_done(p, names[1], file_a));
    struct position found;
    assert_true(positions_find(p, "limits", "o", &found));
    assert_true(found.sequence == UINT64_MAX && found.record.buffer_offset == UINT64_MAX);
    assert_true(found.record.record_offset == UINT32_MAX);
    assert_false(positions_find(p, "limits", "shared", &found));
    positions_close(p);
}

static void what_was_not_saved_is_not_found(void **state)
{
    (void)state;
    struct positions *p = open_or_fail(NULL);
    ack(p, "s", "o", 1);
    assert_true(positions_save(p, &err));
    ack(p, "s", "o", 2);
    positions_close(p);
    p = open_or_fail(NULL);
    assert_at(p, "s", "o", 1);
    positions_close(p);
}

struct crash {
    enum positions_step at;
};

static bool crash_at(void *self, enum positions_step step)
{
    struct crash *crash = self;
    return step != crash->at;
}

static void a_crash_between_any_two_steps_leaves_the_old_or_the_new_state(void **state)
{
    (void)state;
    for (int at = POSITIONS_STEP_CREATE; at <= POSITIONS_STEP_DONE; at++) {
        begin(NULL);
        struct crash crash = {.at = (enum positions_step) - 1};
        const struct positions_hooks hooks = {.step = crash_at, .self = &crash};
        struct positions *p = open_or_fail(&hooks);
        ack(p, "s", "o", 1);
        ack(p, "s", "second", 5);
        assert_true(positions_save(p, &err));
        ack(p, "s", "o", 2);
        ack(p, "s", "second", 6);
        crash.at = (enum positions_step)at;
        assert_false(positions_save(p, &err));
        positions_close(p);

        p = open_or_fail(NULL);
        assert_null(positions_notice(p));
        bool is_new = at > POSITIONS_STEP_RENAME;
        assert_at(p, "s", "o", is_new ? 2 : 1);
        assert_at(p, "s", "second", is_new ? 6 : 5);
        ack(p, "s", "o", 3); /* what was left behind is in nobody's way */
        assert_true(positions_save(p, &err));
        positions_close(p);
        p = open_or_fail(NULL);
        assert_at(p, "s", "o", 3);
        positions_close(p);
    }
}

static void a_failed_save_is_made_up_for_by_the_next(void **state)
{
    (void)state;
    char made[sizeof(state_path) + 16];
    snprintf(made, sizeof(made), "%s.new", state_path);
    struct positions *p = open_or_fail(NULL);
    ack(p, "s", "o", 1);
    assert_true(positions_save(p, &err));
    ack(p, "s", "o", 2);
    assert_true(plat_dir_create(made, &err)); /* in the way of the new file */
    assert_false(positions_save(p, &err));
    assert_non_null(strstr(err.text, "state.new"));
    assert_true(temp_folder_remove_empty(made));
    assert_true(positions_save(p, &err));
    positions_close(p);
    p = open_or_fail(NULL);
    assert_at(p, "s", "o", 2);
    positions_close(p);
}

static void a_second_agent_is_told_who_holds_the_folder(void **state)
{
    (void)state;
    char process[32];
    snprintf(process, sizeof(process), "process %llu.", (unsigned long long)temp_process_id());
    struct positions *p = open_or_fail(NULL);
    assert_null(positions_open(folder, NULL, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, folder));
    assert_non_null(strstr(err.text, process));
    positions_close(p);
    positions_close(open_or_fail(NULL));
}

static void damage_is_set_aside_and_told_whichever_byte_it_hits(void **state)
{
    (void)state;
    struct positions *p = open_or_fail(NULL);
    ack(p, "s", "o", 1);
    assert_true(positions_finish(p, "s", file_a, 7, &err));
    assert_true(positions_save(p, &err));
    positions_close(p);
    char *text;
    size_t size;
    assert_true(plat_file_load(state_path, 1 << 20, &text, &size, &err));
    assert_true(size > 0);
    size_t damaged = 0;
    for (size_t i = 0; i < 2 * size; i++) { /* first cut at every byte, then every byte changed */
        size_t at = i % size;
        text[at] ^= i < size ? 0 : 1;
        write_file(state_path, span_make(text, i < size ? at : size));
        text[at] ^= i < size ? 0 : 1;
        p = open_or_fail(NULL);
        struct position position;
        assert_false(positions_find(p, "s", "o", &position));
        assert_false(is_done(p, "s", file_a));
        assert_non_null(strstr(positions_notice(p), "state.damaged-"));
        assert_non_null(strstr(positions_notice(p), "twice"));
        assert_int_equal(plat_path_kind(state_path), PLAT_PATH_NONE);
        positions_close(p);
        damaged++;
    }
    assert_int_equal(count_damaged(), damaged); /* each under a name of its own */
    write_file(state_path, span_make(text, size));
    p = open_or_fail(NULL);
    assert_null(positions_notice(p));
    assert_at(p, "s", "o", 1);
    positions_close(p);
    free(text);
}

static void a_state_of_a_newer_version_is_left_alone(void **state)
{
    (void)state;
    positions_close(open_or_fail(NULL));
    /* The checksum is XXH3-64 of the first line: computed with libxxhash alone. */
    write_file(state_path, span_text("etwship-state 2\nend 165adb3f01fad24d\n"));
    assert_null(positions_open(folder, NULL, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, state_path));
    assert_int_equal(plat_path_kind(state_path), PLAT_PATH_FILE);
}

static void limits_change_nothing(void **state)
{
    (void)state;
    struct positions *p = open_or_fail(NULL);
    ack(p, "s", "o", 1);
    uint8_t *large = calloc(1, POSITIONS_MAX_BLOB_BYTES + 1);
    assert_non_null(large);
    struct position position = position_of(2);
    assert_false(positions_ack(
        p, "s", "o", &position, span_make(large, POSITIONS_MAX_BLOB_BYTES + 1), &err));
    assert_at(p, "s", "o", 1);
    struct span source = span_make(large, POSITIONS_MAX_BLOB_BYTES + 1);
    assert_true(positions_watch_source(p, "s", give_state, &source, &err));
    assert_false(positions_save(p, &err));
    assert_string_equal(err.text, "too long");
    assert_int_equal(plat_path_kind(state_path), PLAT_PATH_NONE);
    source.size--;
    assert_true(positions_save(p, &err));
    positions_close(p);
    p = open_or_fail(NULL);
    assert_int_equal(positions_source(p, "s").size, POSITIONS_MAX_BLOB_BYTES);
    positions_close(p);
    free(large);
}

static void the_oldest_of_too_many_files_is_forgotten(void **state)
{
    (void)state;
    enum { OVER = 3 };
    struct state many = {.outputs = NULL};
    struct state_session *session = state_session(&many, span_text("s"));
    assert_non_null(session);
    struct state_done done = {.sequence = 1};
    for (uint32_t i = 0; i < POSITIONS_MAX_DONE + OVER; i++) {
        memcpy(done.file_id, &i, sizeof(i));
        assert_true(state_add_done(session, &done));
    }
    assert_true(session->done_count <= POSITIONS_MAX_DONE);
    assert_true(session->done_count > POSITIONS_MAX_DONE / 2);
    uint32_t forgotten = POSITIONS_MAX_DONE + OVER - (uint32_t)session->done_count;
    for (uint32_t i = 0; i < POSITIONS_MAX_DONE + OVER; i++) {
        memcpy(done.file_id, &i, sizeof(i));
        const struct state_done *found = state_find_done(session, done.file_id);
        assert_int_equal(found != NULL, i >= forgotten);
        assert_true(!found || memcmp(found->file_id, &i, sizeof(i)) == 0);
    }
    state_fini(&many);
}

enum { THREADS = 4, ACKS = 300 };

struct acker {
    struct positions *positions;
    char session[16];
};

static void run_acks(void *self)
{
    struct acker *acker = self;
    for (uint64_t i = 1; i <= ACKS; i++) {
        ack(acker->positions, acker->session, acker->session, i);
    }
}

static void acks_of_several_threads_meet_a_save(void **state)
{
    (void)state;
    struct positions *p = open_or_fail(NULL);
    struct acker ackers[THREADS];
    struct plat_thread *threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        ackers[i].positions = p;
        snprintf(ackers[i].session, sizeof(ackers[i].session), "s%zu", i);
        threads[i] = plat_thread_start("ack", run_acks, &ackers[i], &err);
        assert_non_null(threads[i]);
    }
    for (int i = 0; i < 5; i++) {
        assert_true(positions_save(p, &err));
    }
    for (size_t i = 0; i < THREADS; i++) {
        plat_thread_join(threads[i]);
    }
    assert_true(positions_save(p, &err));
    positions_close(p);
    p = open_or_fail(NULL);
    for (size_t i = 0; i < THREADS; i++) {
        assert_at(p, ackers[i].session, ackers[i].session, ACKS);
    }
    positions_close(p);
}

struct input {
    struct positions *positions;
    uint64_t delivered;
};

/* The input's state is as new as what was acked: nobody acks while it is taken. */
static bool state_of_input(void *self, struct buf *out, struct error *error)
{
    (void)error;
    const struct input *input = self;
    buf_printf(out, "%d", (int)input->delivered);
    return true;
}

static void the_state_of_an_input_is_taken_with_each_save_and_at_its_end(void **state)
{
    (void)state;
    struct positions *p = open_or_fail(NULL);
    struct input input = {.positions = p};
    assert_true(positions_watch_source(p, "s", state_of_input, &input, &err));
    for (uint64_t i = 1; i <= 3; i++) {
        input.delivered = i;
        ack(p, "s", "o", i);
        if (i < 3) {
            assert_true(positions_save(p, &err));
            assert_int_equal(positions_source(p, "s").data[0], '0' + i);
        }
    }
    assert_true(positions_watch_source(p, "s", NULL, NULL, &err));
    input.delivered = 9; /* it is gone */
    assert_true(positions_save(p, &err));
    positions_close(p);
    p = open_or_fail(NULL);
    assert_span(positions_source(p, "s"), "3");
    positions_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_new_folder_knows_nothing, begin),
        cmocka_unit_test_setup(what_was_saved_is_found_again, begin),
        cmocka_unit_test_setup(what_was_not_saved_is_not_found, begin),
        cmocka_unit_test(a_crash_between_any_two_steps_leaves_the_old_or_the_new_state),
        cmocka_unit_test_setup(a_failed_save_is_made_up_for_by_the_next, begin),
        cmocka_unit_test_setup(a_second_agent_is_told_who_holds_the_folder, begin),
        cmocka_unit_test_setup(damage_is_set_aside_and_told_whichever_byte_it_hits, begin),
        cmocka_unit_test_setup(a_state_of_a_newer_version_is_left_alone, begin),
        cmocka_unit_test_setup(limits_change_nothing, begin),
        cmocka_unit_test_setup(the_oldest_of_too_many_files_is_forgotten, begin),
        cmocka_unit_test_setup(the_state_of_an_input_is_taken_with_each_save_and_at_its_end, begin),
        cmocka_unit_test_setup(acks_of_several_threads_meet_a_save, begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

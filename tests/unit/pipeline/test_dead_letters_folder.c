#include <stdio.h>
#include <stdlib.h>

#include "pipeline/dead_letters.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char root[TEMP_FOLDER_BYTES];

enum { PATH_BYTES = TEMP_FOLDER_BYTES + 64 };

struct rig {
    char folder[TEMP_FOLDER_BYTES + 32];
    struct dead_letters *letters;
    uint64_t evicted;
    struct buf seen;
};

static void on_evicted(void *self, const struct eviction *eviction)
{
    assert_span(eviction->output, "siem");
    assert_true(eviction->times.from == UINT64_C(134397612001234567));
    ((struct rig *)self)->evicted += eviction->count;
}

static void open_store(struct rig *rig, uint64_t max_bytes, uint64_t file_bytes)
{
    struct error err = {0};
    rig->letters = dead_letters_folder_create(
        &(struct dead_letters_folder_settings){.folder = rig->folder,
            .max_bytes = max_bytes,
            .file_bytes = file_bytes,
            .evicted = on_evicted,
            .self = rig},
        &err);
    assert_non_null(rig->letters);
}

static void setup(struct rig *rig, const char *name, uint64_t max_bytes, uint64_t file_bytes)
{
    *rig = (struct rig){.evicted = 0};
    snprintf(rig->folder, sizeof(rig->folder), "%s/%s", root, name);
    buf_init(&rig->seen, 1 << 20);
    open_store(rig, max_bytes, file_bytes);
}

static void teardown(struct rig *rig)
{
    dead_letters_destroy(rig->letters);
    buf_fini(&rig->seen);
}

static bool put(struct rig *rig, const char *document, size_t count, struct error *err)
{
    struct dead_letter items[16];
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct dead_letter){.time = UINT64_C(134397612001234567),
            .output = span_text("siem"),
            .status = 400,
            .document = span_text(document)};
    }
    return rig->letters->ops->put(rig->letters, items, count, err);
}

static void put_one(struct rig *rig, const char *document)
{
    struct error err = {0};
    bool good = put(rig, document, 1, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

static bool see(void *self, const struct dead_letter *letter)
{
    struct rig *rig = self;
    buf_printf(
        &rig->seen, "%llu %.*s;", (unsigned long long)letter->id, SPAN_ARG(letter->document));
    return true;
}

static void assert_letters(struct rig *rig, const char *expected)
{
    struct error err = {0};
    buf_reset(&rig->seen);
    assert_true(rig->letters->ops->each(rig->letters, see, rig, &err));
    assert_span(buf_span(&rig->seen), expected);
}

static void file_path(const struct rig *rig, unsigned number, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%08u.ndjson", rig->folder, number);
}

static bool has_file(const struct rig *rig, unsigned number)
{
    char path[PATH_BYTES];
    file_path(rig, number, path);
    return temp_file_is_there(path);
}

static void add_to_file(const struct rig *rig, unsigned number, const char *text)
{
    char path[PATH_BYTES];
    struct error err;
    file_path(rig, number, path);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text(text), &err));
    plat_file_close(file);
}

static uint64_t remove_ids(struct rig *rig, const uint64_t *ids, size_t count)
{
    uint64_t removed = UINT64_MAX;
    struct error err = {0};
    assert_true(rig->letters->ops->remove(rig->letters, ids, count, &removed, &err));
    return removed;
}

static void a_store_that_was_never_used_is_empty_and_leaves_no_trace(void **state)
{
    (void)state;
    struct rig rig;
    struct dead_letters_usage usage;
    setup(&rig, "unused", 0, 0);
    assert_letters(&rig, "");
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){1}, 1), 0);
    assert_true(rig.letters->ops->usage(rig.letters, &usage, NULL));
    assert_int_equal(usage.bytes, 0);
    assert_false(temp_file_is_there(rig.folder));
    teardown(&rig);
}

static void letters_are_numbered_in_the_order_they_came_over_restarts(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "order", 0, 0);
    put_one(&rig, "{\"a\":1}");
    assert_true(put(&rig, "{\"b\":1}", 2, NULL));
    dead_letters_destroy(rig.letters);
    open_store(&rig, 0, 0);
    put_one(&rig, "{\"c\":1}");
    assert_letters(&rig, "1 {\"a\":1};2 {\"b\":1};3 {\"b\":1};4 {\"c\":1};");
    teardown(&rig);
}

static bool stop_at_two(void *self, const struct dead_letter *letter)
{
    see(self, letter);
    return letter->id < 2;
}

static void looking_ends_when_the_looker_says_so(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "stop", 0, 1);
    for (int i = 0; i < 4; i++) {
        put_one(&rig, "{}");
    }
    assert_true(rig.letters->ops->each(rig.letters, stop_at_two, &rig, NULL));
    assert_span(buf_span(&rig.seen), "1 {};2 {};");
    teardown(&rig);
}

static void a_torn_line_is_closed_and_never_shown(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "torn", 0, 0);
    put_one(&rig, "{\"a\":1}");
    add_to_file(&rig, 1, "{\"id\":2,\"time\":\"2026-11");
    assert_letters(&rig, "1 {\"a\":1};");
    put_one(&rig, "{\"b\":1}");
    put_one(&rig, "{\"c\":1}");
    assert_letters(&rig, "1 {\"a\":1};2 {\"b\":1};3 {\"c\":1};");
    /* Noise of a failing disk. */
    add_to_file(&rig, 1, "\n\n{}\nx\n");
    put_one(&rig, "{\"d\":1}");
    assert_letters(&rig, "1 {\"a\":1};2 {\"b\":1};3 {\"c\":1};4 {\"d\":1};");
    teardown(&rig);
}

static void a_process_that_dies_anywhere_leaves_the_letters_before(void **state)
{
    (void)state;
    struct rig rig;
    struct plat_file *file;
    char path[PATH_BYTES];
    uint64_t whole;
    uint64_t longer;
    setup(&rig, "cut", 0, 0);
    file_path(&rig, 1, path);
    put_one(&rig, "{\"a\":1}");
    whole = plat_path_stamp(path).size;
    put_one(&rig, "{\"b\":{\"c\":{}}}");
    longer = plat_path_stamp(path).size;
    for (uint64_t size = longer - 1; size >= whole; size--) {
        assert_true(temp_file_cut(path, size));
        assert_letters(&rig, "1 {\"a\":1};");
    }
    file = plat_file_open(path, PLAT_FILE_READ, NULL);
    assert_non_null(file);
    plat_file_close(file);
    put_one(&rig, "{\"d\":1}");
    assert_letters(&rig, "1 {\"a\":1};2 {\"d\":1};");
    teardown(&rig);
}

static void the_oldest_make_room_and_are_counted(void **state)
{
    (void)state;
    struct rig rig;
    struct dead_letters_usage usage;
    char document[400];
    memset(document, ' ', sizeof(document));
    document[0] = '{';
    document[sizeof(document) - 2] = '}';
    document[sizeof(document) - 1] = '\0';
    setup(&rig, "full", 3000, 1000);
    for (int i = 0; i < 40; i++) {
        put_one(&rig, document);
        assert_true(rig.letters->ops->usage(rig.letters, &usage, NULL));
        assert_true(usage.bytes <= 3000);
    }
    assert_true(usage.evicted > 0);
    assert_int_equal(usage.evicted, rig.evicted);
    uint64_t first = 40;
    uint64_t count = 0;
    assert_true(rig.letters->ops->each(rig.letters, see, &rig, NULL));
    for (size_t i = 0; i < rig.seen.size; i++) {
        count += rig.seen.data[i] == ';';
    }
    first = strtoull((const char *)rig.seen.data, NULL, 10);
    assert_int_equal(count + usage.evicted, 40);
    assert_int_equal(first, usage.evicted + 1);
    assert_true(count >= 3);
    teardown(&rig);
}

static void letters_are_removed_by_their_numbers(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "remove", 0, 250); /* two to a file */
    for (int i = 0; i < 6; i++) {
        put_one(&rig, i % 2 ? "{\"odd\":1}" : "{}");
    }
    assert_true(has_file(&rig, 3) && has_file(&rig, 5));
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){2, 3, 4, 9}, 4), 3);
    assert_letters(&rig, "1 {};5 {};6 {\"odd\":1};");
    assert_false(has_file(&rig, 3));
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){2, 3, 4, 9}, 4), 0);
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){1, 5, 6}, 3), 3);
    assert_letters(&rig, "");
    teardown(&rig);
}

static void a_number_is_never_given_twice(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "numbers", 0, 0);
    put_one(&rig, "{}");
    put_one(&rig, "{}");
    /* By another process, of which the agent knows nothing. */
    struct rig other = rig;
    open_store(&other, 0, 0);
    assert_int_equal(remove_ids(&other, (const uint64_t[]){1, 2}, 2), 2);
    assert_int_equal(remove_ids(&other, (const uint64_t[]){1, 2}, 2), 0);
    dead_letters_destroy(other.letters);
    put_one(&rig, "{}");
    assert_letters(&rig, "3 {};");
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){3}, 1), 1);
    dead_letters_destroy(rig.letters);
    open_store(&rig, 0, 0);
    put_one(&rig, "{}");
    assert_letters(&rig, "4 {};");
    teardown(&rig);
}

/* Of the newest file the last letters are gone, the first is left. */
static void a_number_is_not_given_twice_when_the_last_was_removed(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "last", 0, 0);
    assert_true(put(&rig, "{}", 3, NULL));
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){2, 3}, 2), 2);
    put_one(&rig, "{\"new\":1}");
    assert_letters(&rig, "1 {};4 {\"new\":1};");
    teardown(&rig);
}

static void a_store_that_another_process_changes_is_not_written_to(void **state)
{
    (void)state;
    struct rig rig;
    char path[PATH_BYTES];
    struct error err = {0};
    setup(&rig, "locked", 0, 0);
    put_one(&rig, "{}");
    snprintf(path, sizeof(path), "%s/lock", rig.folder);
    struct plat_file *lock = plat_file_open(path, PLAT_FILE_APPEND, &err);
    assert_non_null(lock);
    assert_true(plat_file_lock(lock, &err));
    assert_false(put(&rig, "{\"b\":1}", 1, &err));
    assert_true(err.text[0] != '\0');
    plat_file_close(lock);
    assert_letters(&rig, "1 {};");
    put_one(&rig, "{\"b\":1}");
    assert_letters(&rig, "1 {};2 {\"b\":1};");
    teardown(&rig);
}

static void what_cannot_be_written_is_said_and_can_be_put_again(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    setup(&rig, "file", 0, 0);
    struct plat_file *file = plat_file_open(rig.folder, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    plat_file_close(file);
    assert_false(put(&rig, "{}", 2, &err));
    assert_true(strstr(err.text, rig.folder) != NULL);
    assert_true(plat_path_remove(rig.folder, &err));
    assert_true(put(&rig, "{}", 2, &err));
    assert_letters(&rig, "1 {};2 {};");
    teardown(&rig);
}

/* Other folders fit its name as a pattern. */
static void a_folder_may_be_named_like_a_pattern(void **state)
{
    (void)state;
    struct rig other;
    struct rig rig;
    setup(&other, "abc", 0, 0);
    put_one(&other, "{\"other\":1}");
    setup(&rig, "a*c", 0, 0);
    if (!plat_dir_create(rig.folder, NULL)) {
        teardown(&rig);
        teardown(&other);
        skip(); /* Windows does not allow such names */
    }
    put_one(&rig, "{}");
    put_one(&rig, "{}");
    assert_letters(&rig, "1 {};2 {};");
    assert_int_equal(remove_ids(&rig, (const uint64_t[]){1, 2}, 2), 2);
    assert_letters(&other, "1 {\"other\":1};");
    teardown(&rig);
    teardown(&other);
}

static void a_document_too_long_to_be_kept_leaves_what_was_said_of_it(void **state)
{
    (void)state;
    struct rig rig;
    size_t size = DEAD_LETTER_DOCUMENT_MAX_BYTES + 2;
    char *document = malloc(size);
    assert_non_null(document);
    memset(document, ' ', size);
    document[0] = '{';
    document[size - 2] = '}';
    document[size - 1] = '\0';
    setup(&rig, "long", 0, 0);
    put_one(&rig, document);
    assert_letters(&rig, "1 ;");
    free(document);
    teardown(&rig);
}

static int make_root(void **state)
{
    (void)state;
    return temp_folder_make(root, "letters");
}

static int remove_root(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_was_never_used_is_empty_and_leaves_no_trace),
        cmocka_unit_test(letters_are_numbered_in_the_order_they_came_over_restarts),
        cmocka_unit_test(looking_ends_when_the_looker_says_so),
        cmocka_unit_test(a_torn_line_is_closed_and_never_shown),
        cmocka_unit_test(a_process_that_dies_anywhere_leaves_the_letters_before),
        cmocka_unit_test(the_oldest_make_room_and_are_counted),
        cmocka_unit_test(letters_are_removed_by_their_numbers),
        cmocka_unit_test(a_number_is_never_given_twice),
        cmocka_unit_test(a_number_is_not_given_twice_when_the_last_was_removed),
        cmocka_unit_test(a_store_that_another_process_changes_is_not_written_to),
        cmocka_unit_test(what_cannot_be_written_is_said_and_can_be_put_again),
        cmocka_unit_test(a_folder_may_be_named_like_a_pattern),
        cmocka_unit_test(a_document_too_long_to_be_kept_leaves_what_was_said_of_it),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}

#include "store/catalogue/catalogue_letters.h"

#include <stdlib.h>

#include "unit/store/catalogue_rig.h"

static struct catalogue_letter letter_of(uint64_t time, const char *document)
{
    return (struct catalogue_letter){.id = 99,
        .time = time,
        .status = 400,
        .output = span_text("o"),
        .document = span_text(document)};
}

static void count_evicted(void *self, uint64_t id, struct span output, uint64_t time)
{
    assert_true(id > 0);
    assert_span(output, "o");
    assert_true(time > 0);
    ++*(uint64_t *)self;
}

static void put(struct catalogue *catalogue, const struct catalogue_letter *letters, size_t count,
    uint64_t max_bytes, uint64_t expected_first, uint64_t expected_evicted)
{
    uint64_t *ids = calloc(count + 1, sizeof(*ids));
    uint64_t evicted = 0;
    const struct catalogue_letters_room room = {
        .max_bytes = max_bytes, .evicted = count_evicted, .self = &evicted};
    assert_non_null(ids);
    rig_begin(catalogue);
    assert_good(catalogue_put_letters(catalogue, letters, count, &room, ids, &rig_err));
    rig_commit(catalogue);
    assert_int_equal(count ? ids[0] : rig_info(catalogue).next.letter, expected_first);
    free(ids);
    assert_int_equal(evicted, expected_evicted);
}

static void put_one(struct catalogue *catalogue, const char *document)
{
    struct catalogue_letter letter = letter_of(1, document);
    rig_begin(catalogue);
    assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
    rig_commit(catalogue);
}

struct list {
    char text[1000];
    size_t count;
    size_t max;
};

static bool each_id(void *self, const struct catalogue_letter *letter)
{
    struct list *list = self;
    size_t used = strlen(list->text);
    snprintf(list->text + used, sizeof(list->text) - used, "%llu ", (unsigned long long)letter->id);
    return ++list->count < list->max;
}

static const char *ids_of(struct catalogue *catalogue, size_t max)
{
    static struct list list;
    list = (struct list){.max = max};
    assert_good(catalogue_letters(catalogue, each_id, &list, &rig_err));
    return list.text;
}

static bool keep_all(void *self, const struct catalogue_letter *letter)
{
    struct list *list = self;
    list->count++;
    assert_int_equal(letter->id, 1);
    assert_true(letter->time == UINT64_MAX);
    assert_int_equal(letter->status, -5);
    assert_span(letter->output, "output");
    assert_span(letter->type, "type");
    assert_int_equal(letter->reason.size, 3);
    assert_memory_equal(letter->reason.data, "a\0b", 3);
    assert_span(letter->index, "index");
    assert_span(letter->route, "");
    assert_span(letter->document_id, "id");
    assert_span(letter->document, "{\"a\":1}");
    assert_true(letter->epoch == UINT64_MAX - 1);
    assert_int_equal(letter->record, 77);
    return true;
}

static void a_letter_is_read_as_it_was_put(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct list list = {.count = 0};
    struct catalogue_letter letter = {.id = 7,
        .time = UINT64_MAX,
        .status = -5,
        .epoch = UINT64_MAX - 1,
        .record = 77,
        .output = span_text("output"),
        .type = span_text("type"),
        .reason = span_make("a\0b", 3),
        .index = span_text("index"),
        .document_id = span_text("id"),
        .document = span_text("{\"a\":1}")};
    put(catalogue, &letter, 1, UINT64_MAX, 1, 0);
    catalogue = rig_reopen(catalogue);
    assert_good(catalogue_letters(catalogue, keep_all, &list, &rig_err));
    assert_int_equal(list.count, 1);
    catalogue_close(catalogue);
}

static void a_record_that_has_a_name_is_kept_once_for_each_output(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const struct {
        const char *output;
        const char *document_id;
        const char *ids; /* of all letters then */
    } cases[] = {{"o", "x", "1 "}, {"o", "x", "1 "}, {"p", "x", "1 2 "}, {"o", "y", "1 2 3 "},
        {"o", "", "1 2 3 4 "}, {"o", "", "1 2 3 4 5 "}, {"o", "y", "1 2 3 4 5 "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct catalogue_letter letter = letter_of(i, "d");
        letter.output = span_text(cases[i].output);
        letter.document_id = span_text(cases[i].document_id);
        rig_begin(catalogue);
        assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
        rig_commit(catalogue);
        catalogue = rig_reopen(catalogue);
        assert_string_equal(ids_of(catalogue, 9), cases[i].ids);
    }
    static const uint64_t first[] = {1};
    struct catalogue_letter again = letter_of(9, "d");
    uint64_t removed;
    again.document_id = span_text("x");
    rig_begin(catalogue);
    assert_good(catalogue_remove_letters(catalogue, first, 1, &removed, &rig_err));
    assert_good(catalogue_put_letters(catalogue, &again, 1, NULL, NULL, &rig_err));
    rig_commit(catalogue);
    assert_string_equal(ids_of(catalogue, 9), "2 3 4 5 6 ");
    catalogue_close(catalogue);
}

static void a_record_is_kept_once_for_each_output(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const struct {
        const char *output;
        uint64_t epoch;
        uint64_t record;
        const char *document_id;
        const char *ids; /* of all letters then */
    } cases[] = {{"o", UINT64_MAX, 7, "", "1 "}, {"o", UINT64_MAX, 7, "", "1 "},
        {"o", UINT64_MAX, 7, "x", "1 "}, {"p", UINT64_MAX, 7, "", "1 2 "},
        {"o", UINT64_MAX, 8, "", "1 2 3 "}, {"o", 5, 7, "", "1 2 3 4 "},
        {"o", 0, 7, "", "1 2 3 4 5 "}, {"o", 0, 7, "", "1 2 3 4 5 6 "},
        {"o", 5, 7, "", "1 2 3 4 5 6 "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct catalogue_letter letter = letter_of(i, "d");
        letter.output = span_text(cases[i].output);
        letter.document_id = span_text(cases[i].document_id);
        letter.epoch = cases[i].epoch;
        letter.record = cases[i].record;
        rig_begin(catalogue);
        assert_good(catalogue_put_letters(catalogue, &letter, 1, NULL, NULL, &rig_err));
        rig_commit(catalogue);
        catalogue = rig_reopen(catalogue);
        assert_string_equal(ids_of(catalogue, 9), cases[i].ids);
    }
    catalogue_close(catalogue);
}

static void numbers_ascend_over_removals_and_restarts(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_letter letters[3] = {letter_of(3, "a"), letter_of(2, "b"), letter_of(1, "c")};
    static const uint64_t all[] = {1, 2, 3};
    uint64_t removed;
    put(catalogue, letters, 3, UINT64_MAX, 1, 0);
    assert_string_equal(ids_of(catalogue, 9), "1 2 3 ");
    rig_begin(catalogue);
    assert_good(catalogue_remove_letters(catalogue, all, 3, &removed, &rig_err));
    rig_commit(catalogue);
    assert_int_equal(removed, 3);
    assert_string_equal(ids_of(catalogue, 9), "");
    catalogue = rig_reopen(catalogue);
    put(catalogue, letters, 2, UINT64_MAX, 4, 0);
    put(catalogue, letters, 0, UINT64_MAX, 6, 0);
    assert_string_equal(ids_of(catalogue, 9), "4 5 ");
    assert_string_equal(ids_of(catalogue, 1), "4 ");
    catalogue_close(catalogue);
}

static void those_that_are_not_there_are_not_counted(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const uint64_t ids[] = {0, 2, 2, 5, INT64_MAX, UINT64_MAX};
    uint64_t removed = 99;
    for (int i = 0; i < 3; i++) {
        put_one(catalogue, "x");
    }
    rig_begin(catalogue);
    assert_good(catalogue_remove_letters(catalogue, ids, 6, &removed, &rig_err));
    rig_commit(catalogue);
    assert_int_equal(removed, 1);
    assert_string_equal(ids_of(catalogue, 9), "1 3 ");
    catalogue_close(catalogue);
}

static void letters_that_wait_remove_none(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_letter letters[3] = {
        letter_of(1, "0123456789"), letter_of(2, "0123456789"), letter_of(3, "01234")};
    struct catalogue_letters_room room = {.max_bytes = 160, .waits = true};
    uint64_t ids[3] = {9, 9, 9};
    rig_begin(catalogue);
    assert_good(catalogue_put_letters(catalogue, letters, 2, &room, ids, &rig_err));
    rig_commit(catalogue);
    assert_int_equal(ids[1], 2);
    rig_begin(catalogue);
    struct error err = {0};
    assert_false(catalogue_put_letters(catalogue, letters, 1, &room, ids, &err));
    catalogue_rollback(catalogue);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.text, "they take 150 of 160 bytes"));
    assert_string_equal(ids_of(catalogue, 9), "1 2 ");
    assert_int_equal(rig_info(catalogue).letters_evicted, 0);
    /* A letter larger than all the room is kept alone. */
    uint64_t removed;
    rig_begin(catalogue);
    assert_good(
        catalogue_remove_letters(catalogue, (const uint64_t[]){1, 2}, 2, &removed, &rig_err));
    room.max_bytes = 10;
    assert_good(catalogue_put_letters(catalogue, letters, 1, &room, ids, &rig_err));
    rig_commit(catalogue);
    /* A letter that is there already takes no room. */
    letters[1].document_id = span_text("x");
    rig_begin(catalogue);
    assert_good(catalogue_put_letters(catalogue, &letters[1], 1, NULL, ids, &rig_err));
    assert_good(catalogue_put_letters(catalogue, &letters[1], 1, &room, ids, &rig_err));
    assert_int_equal(ids[0], 0);
    rig_commit(catalogue);
    catalogue_close(catalogue);
}

/* A letter of letter_of takes 64 bytes, and the bytes of its output's name and of its document. */
static void the_oldest_make_room_and_are_counted(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_letter letters[3] = {
        letter_of(1, "0123456789"), letter_of(1, "0123456789"), letter_of(1, "01234")};
    put(catalogue, letters, 3, 1000, 1, 0);
    assert_int_equal(rig_info(catalogue).letters, 3);
    assert_int_equal(rig_info(catalogue).letter_bytes, 3 * 65 + 25);
    put(catalogue, letters, 1, 295, 4, 0);
    assert_string_equal(ids_of(catalogue, 9), "1 2 3 4 ");
    put(catalogue, letters, 1, 369, 5, 1);
    assert_string_equal(ids_of(catalogue, 9), "2 3 4 5 ");
    put(catalogue, letters, 1, 150, 6, 3);
    assert_string_equal(ids_of(catalogue, 9), "5 6 ");
    put(catalogue, letters, 2, 0, 7, 3);
    assert_string_equal(ids_of(catalogue, 9), "8 ");
    put(catalogue, letters, 0, 0, 9, 0);
    catalogue = rig_reopen(catalogue);
    struct catalogue_info info = rig_info(catalogue);
    assert_int_equal(info.letters, 1);
    assert_int_equal(info.letter_bytes, 75);
    assert_int_equal(info.letters_evicted, 7);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

struct sizes {
    size_t reason;
    size_t document;
};

static bool each_size(void *self, const struct catalogue_letter *letter)
{
    struct sizes *sizes = self;
    sizes[letter->id - 1] = (struct sizes){letter->reason.size, letter->document.size};
    return true;
}

static void long_texts_are_cut_and_long_documents_are_left_out(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    char *bytes = calloc(1, CATALOGUE_DOCUMENT_MAX_BYTES + 1);
    struct sizes sizes[2] = {{0}};
    struct error err = {0};
    assert_non_null(bytes);
    struct catalogue_letter letters[2] = {letter_of(1, ""), letter_of(1, "")};
    letters[0].document = span_make(bytes, CATALOGUE_DOCUMENT_MAX_BYTES);
    letters[1].document = span_make(bytes, CATALOGUE_DOCUMENT_MAX_BYTES + 1);
    letters[1].reason = span_make(bytes, CATALOGUE_TEXT_MAX_BYTES + 1);
    put(catalogue, letters, 2, UINT64_MAX, 1, 0);
    assert_good(catalogue_letters(catalogue, each_size, sizes, &rig_err));
    assert_int_equal(sizes[0].document, CATALOGUE_DOCUMENT_MAX_BYTES);
    assert_int_equal(sizes[1].document, 0);
    assert_int_equal(sizes[1].reason, CATALOGUE_TEXT_MAX_BYTES);
    letters[0].output = span_make(bytes, CATALOGUE_NAME_MAX_BYTES + 1);
    rig_begin(catalogue);
    assert_false(catalogue_put_letters(catalogue, letters, 1, NULL, NULL, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    free(bytes);
    catalogue_close(catalogue);
}

static void many_letters_are_read_in_several_chunks(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    enum { COUNT = 1000, BYTES = 3000 };
    static struct catalogue_letter letters[COUNT];
    static char document[BYTES + 1];
    memset(document, 'd', BYTES);
    for (size_t i = 0; i < COUNT; i++) {
        letters[i] = letter_of(1, document);
    }
    struct list list = {.max = SIZE_MAX};
    put(catalogue, letters, COUNT, UINT64_MAX, 1, 0);
    assert_good(catalogue_letters(catalogue, each_id, &list, &rig_err));
    assert_int_equal(list.count, COUNT);
    list = (struct list){.max = 700};
    assert_good(catalogue_letters(catalogue, each_id, &list, &rig_err));
    assert_int_equal(list.count, 700);
    catalogue_close(catalogue);
}

struct busy {
    struct catalogue *catalogue; /* the catalogue that is read */
    struct catalogue *other;
    size_t count;
};

/* A reader removes letters that it has read, while a writer puts new ones. */
static bool remove_and_put(void *self, const struct catalogue_letter *letter)
{
    struct busy *busy = self;
    uint64_t id = letter->id;
    uint64_t removed;
    busy->count++;
    rig_begin(busy->catalogue);
    assert_good(catalogue_remove_letters(busy->catalogue, &id, 1, &removed, &rig_err));
    rig_commit(busy->catalogue);
    assert_int_equal(removed, 1);
    put_one(busy->other, "new");
    return true;
}

static void letters_are_read_while_others_put_and_remove(void **state)
{
    (void)state;
    struct catalogue *owner = rig_create();
    struct catalogue *command = rig_open(CATALOGUE_WRITE);
    struct busy busy = {.catalogue = command, .other = owner};
    for (int i = 0; i < 300; i++) {
        put_one(owner, "old");
    }
    assert_good(catalogue_letters(command, remove_and_put, &busy, &rig_err));
    assert_int_equal(busy.count, 300); /* without those that came meanwhile */
    assert_int_equal(rig_info(owner).letters, 300);
    assert_int_equal(rig_info(owner).next.letter, 601);
    rig_verify(owner);
    catalogue_close(command);
    catalogue_close(owner);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_letter_is_read_as_it_was_put),
        TEST(a_record_that_has_a_name_is_kept_once_for_each_output),
        TEST(a_record_is_kept_once_for_each_output),
        TEST(numbers_ascend_over_removals_and_restarts),
        TEST(those_that_are_not_there_are_not_counted),
        TEST(letters_that_wait_remove_none),
        TEST(the_oldest_make_room_and_are_counted),
        TEST(long_texts_are_cut_and_long_documents_are_left_out),
        TEST(many_letters_are_read_in_several_chunks),
        TEST(letters_are_read_while_others_put_and_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdio.h>
#include <stdlib.h>

#include "pipeline/deliver/dead_letters.h"
#include "store/catalogue/catalogue_letters.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char root[TEMP_FOLDER_BYTES];

enum { PATH_BYTES = TEMP_FOLDER_BYTES + 64 };

struct rig {
    char path[PATH_BYTES];
    struct dead_letters *letters;
    uint64_t evicted; /* as reported */
    size_t count;     /* letters that `look` saw */
    struct buf seen;
};

static void on_evicted(void *self, const struct eviction *eviction)
{
    assert_span(eviction->output, "siem");
    assert_true(eviction->times.from == UINT64_C(134397612001234567));
    ((struct rig *)self)->evicted += eviction->count;
}

static int begin(void **state)
{
    (void)state;
    return temp_folder_make(root, "letters");
}

static int end(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

static void open_letters(struct rig *rig, uint64_t max_bytes)
{
    struct error err = {0};
    const struct dead_letters_catalogue_settings settings = {
        .path = rig->path, .max_bytes = max_bytes, .evicted = on_evicted, .self = rig};
    rig->letters = dead_letters_catalogue_create(&settings, &err);
    assert_non_null(rig->letters);
}

/* Without the catalogue's file, unless ${made}. */
static void setup(struct rig *rig, const char *name, bool made, uint64_t max_bytes)
{
    struct error err = {0};
    *rig = (struct rig){.evicted = 0};
    snprintf(rig->path, sizeof(rig->path), "%s/%s.db", root, name);
    buf_init(&rig->seen, 1 << 20);
    if (made) {
        struct catalogue *catalogue = catalogue_create(rig->path, 7, span_text("here"), &err);
        assert_non_null(catalogue);
        assert_true(catalogue_commit(catalogue, &err));
        catalogue_close(catalogue);
    }
    open_letters(rig, max_bytes);
}

static void teardown(struct rig *rig)
{
    dead_letters_destroy(rig->letters);
    buf_fini(&rig->seen);
}

static bool put(struct rig *rig, const char *document, size_t count, struct error *err)
{
    struct dead_letter items[200];
    assert_true(count <= 200);
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct dead_letter){.time = UINT64_C(134397612001234567),
            .output = span_text("siem"),
            .status = 400,
            .type = span_text("mapper_parsing_exception"),
            .reason = span_text("no number"),
            .index = span_text("logs-x"),
            .route = span_text("logs-{x}"),
            /* Letters with one document id are one letter. */
            .document_id = span_text(document[0] == '{' ? "0123" : ""),
            .document = span_text(document)};
    }
    return rig->letters->ops->put(rig->letters, items, count, err);
}

static bool note(void *self, const struct dead_letter *letter)
{
    struct rig *rig = self;
    rig->count++;
    buf_printf(
        &rig->seen, "%llu:%.*s ", (unsigned long long)letter->id, SPAN_ARG(letter->document));
    return true;
}

static void assert_seen(struct rig *rig, const char *want)
{
    struct error err = {0};
    rig->count = 0;
    buf_reset(&rig->seen);
    assert_true(rig->letters->ops->each(rig->letters, note, rig, &err));
    assert_span(buf_span(&rig->seen), want);
}

static void without_a_catalogue_there_is_nothing_and_no_place(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    struct dead_letters_usage usage = {.bytes = 1};
    uint64_t removed = 1;
    uint64_t id = 1;
    setup(&rig, "none", false, 0);
    assert_seen(&rig, "");
    assert_true(rig.letters->ops->usage(rig.letters, &usage, &err));
    assert_int_equal(usage.bytes, 0);
    assert_true(rig.letters->ops->remove(rig.letters, &id, 1, &removed, &err));
    assert_int_equal(removed, 0);
    assert_false(put(&rig, "{}", 1, &err));
    assert_int_equal(err.code, ERR_MISSING);
    assert_false(temp_file_is_there(rig.path));
    teardown(&rig);
}

static bool is_whole(void *self, const struct dead_letter *letter)
{
    *(size_t *)self += 1;
    assert_int_equal(letter->time, UINT64_C(134397612001234567));
    assert_int_equal(letter->status, 400);
    assert_span(letter->output, "siem");
    assert_span(letter->type, "mapper_parsing_exception");
    assert_span(letter->reason, "no number");
    assert_span(letter->index, "logs-x");
    assert_span(letter->route, "logs-{x}");
    assert_span(letter->document_id, "0123");
    assert_span(letter->document, "{\"a\":1}");
    return true;
}

static void all_of_a_letter_comes_back_over_restarts(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    size_t count = 0;
    setup(&rig, "whole", true, 0);
    assert_true(put(&rig, "{\"a\":1}", 1, &err));
    dead_letters_destroy(rig.letters);
    open_letters(&rig, 0);
    assert_true(rig.letters->ops->each(rig.letters, is_whole, &count, &err));
    assert_int_equal(count, 1);
    assert_true(put(&rig, "b", 1, &err));
    assert_seen(&rig, "1:{\"a\":1} 2:b ");
    teardown(&rig);
}

static void many_at_once_are_all_kept(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    setup(&rig, "many", true, 0);
    assert_true(put(&rig, "x", 200, &err));
    assert_true(rig.letters->ops->each(rig.letters, note, &rig, &err));
    assert_int_equal(rig.count, 200);
    teardown(&rig);
}

static void the_oldest_make_room_and_are_counted(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    struct dead_letters_usage usage;
    static char document[40 * 1024];
    memset(document, 'x', sizeof(document) - 1);
    setup(&rig, "full", true, UINT64_C(100) * 1024);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(put(&rig, document, 1, &err));
    }
    assert_true(rig.letters->ops->usage(rig.letters, &usage, &err));
    assert_true(usage.bytes <= UINT64_C(100) * 1024);
    assert_true(rig.letters->ops->each(rig.letters, note, &rig, &err));
    assert_int_equal(rig.count, 2);
    assert_int_equal(usage.evicted, 3);
    assert_int_equal(rig.evicted, 3);
    teardown(&rig);
}

struct removal {
    struct rig *rig;
    uint64_t removed;
};

static bool remove_it(void *self, const struct dead_letter *letter)
{
    struct removal *removal = self;
    struct dead_letters *letters = removal->rig->letters;
    uint64_t removed = 0;
    struct error err;
    assert_true(letters->ops->remove(letters, &letter->id, 1, &removed, &err));
    removal->removed += removed;
    return true;
}

static void a_visitor_may_remove(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    struct removal removal = {.rig = &rig};
    setup(&rig, "looks", true, 0);
    assert_true(put(&rig, "x", 100, &err));
    assert_true(rig.letters->ops->each(rig.letters, remove_it, &removal, &err));
    assert_int_equal(removal.removed, 100);
    assert_seen(&rig, "");
    assert_true(put(&rig, "y", 1, &err));
    assert_seen(&rig, "101:y ");
    teardown(&rig);
}

static void two_processes_may_work_on_one_store(void **state)
{
    (void)state;
    struct rig rig;
    struct rig other;
    struct error err = {0};
    const uint64_t ids[] = {1, 3, 99};
    uint64_t removed = 0;
    setup(&rig, "two", true, 0);
    assert_true(put(&rig, "a", 3, &err));
    setup(&other, "two", false, 0);
    assert_true(other.letters->ops->remove(other.letters, ids, 3, &removed, &err));
    assert_int_equal(removed, 2);
    assert_true(put(&rig, "b", 1, &err));
    assert_seen(&other, "2:a 4:b ");
    teardown(&other);
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_catalogue_there_is_nothing_and_no_place),
        cmocka_unit_test(all_of_a_letter_comes_back_over_restarts),
        cmocka_unit_test(many_at_once_are_all_kept),
        cmocka_unit_test(the_oldest_make_room_and_are_counted),
        cmocka_unit_test(a_visitor_may_remove),
        cmocka_unit_test(two_processes_may_work_on_one_store),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

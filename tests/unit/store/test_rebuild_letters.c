#include <stdlib.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_letters.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/letters/letter_files.h"
#include "unit/store/store_rig.h"

/* Dead letters of a store whose catalogue is lost, or older. */

static const char *path_in(const struct store_rig *rig, const char *name)
{
    static char path[2][400];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", rig->path, name);
    return path[turn];
}

/* Like the agent: first into the files, then into the catalogue. */
static void put_letters(struct store_rig *rig, size_t count)
{
    struct catalogue_letter letters[10];
    struct catalogue_info info;
    uint64_t ids[10];
    struct catalogue *catalogue = catalogue_open_beside(path_in(rig, "catalogue.db"), 5, &rig->err);
    assert_non_null(catalogue);
    assert_ok(catalogue_begin(catalogue, &rig->err), rig);
    assert_ok(catalogue_info(catalogue, &info, &rig->err), rig);
    for (size_t i = 0; i < count; i++) {
        letters[i] = (struct catalogue_letter){
            .time = 1 + i, .output = span_text("siem"), .document = span_text("{\"n\":1}")};
    }
    assert_ok(catalogue_put_letters(catalogue, letters, count, NULL, ids, &rig->err), rig);
    for (size_t i = 0; i < count; i++) {
        letters[i].id = ids[i];
    }
    const struct letter_files_change change = {
        .letters = letters, .count = count, .next = info.next.letter};
    assert_ok(letter_files_append(path_in(rig, STORE_LETTERS_FOLDER), &change, &rig->err), rig);
    assert_ok(catalogue_commit(catalogue, &rig->err), rig);
    catalogue_close(catalogue);
}

static void tell_gone(struct store_rig *rig, uint64_t to, uint64_t id)
{
    const struct letter_files_change change = {
        .gone_to = to, .gone = &id, .gone_count = id != 0, .next = 100};
    assert_ok(letter_files_append(path_in(rig, STORE_LETTERS_FOLDER), &change, &rig->err), rig);
}

static bool note_id(void *self, const struct catalogue_letter *letter)
{
    char *text = self;
    size_t used = strlen(text);
    snprintf(text + used, 200 - used, "%llu ", (unsigned long long)letter->id);
    return true;
}

static void assert_letters(struct store_rig *rig, const char *want)
{
    char ids[200] = "";
    struct catalogue *catalogue = catalogue_open(
        path_in(rig, "catalogue.db"), CATALOGUE_READ, &rig->err);
    assert_non_null(catalogue);
    assert_ok(catalogue_letters(catalogue, note_id, ids, &rig->err), rig);
    catalogue_close(catalogue);
    assert_string_equal(ids, want);
}

static void lose_catalogue(struct store_rig *rig)
{
    rig_close(rig);
    assert_ok(plat_path_remove(path_in(rig, "catalogue.db"), &rig->err), rig);
}

static bool count_gap(void *self, const struct catalogue_gap *gap)
{
    struct catalogue_gap *seen = self;
    assert_span(gap->stage, "spool");
    assert_span(gap->reason, "dead_letters_damaged");
    assert_span(gap->unit, "events");
    seen->count += gap->count;
    seen->exact = gap->exact;
    return true;
}

static void letters_come_back_and_their_numbers_go_on(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    put_letters(&rig, 5);
    tell_gone(&rig, 1, 3);
    lose_catalogue(&rig);
    rig_open(&rig);
    assert_int_equal(rig.news[STORE_NEWS_LETTERS], 1);
    assert_letters(&rig, "2 4 5 ");
    put_letters(&rig, 1);
    assert_letters(&rig, "2 4 5 6 ");
    /* That is also true if no letter is left. */
    tell_gone(&rig, 6, 0);
    lose_catalogue(&rig);
    rig_open(&rig);
    assert_letters(&rig, "");
    put_letters(&rig, 1);
    assert_letters(&rig, "7 ");
    /* One that is gone had a number, even if the file with the letter itself is gone, too. */
    tell_gone(&rig, 0, 9);
    lose_catalogue(&rig);
    rig_open(&rig);
    put_letters(&rig, 1);
    assert_letters(&rig, "7 10 ");
    assert_int_equal(store_letters_lost(rig.store), 0);
    rig_fini(&rig);
}

static void letters_are_all_that_a_spool_may_have_left(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    put_letters(&rig, 2);
    lose_catalogue(&rig);
    rig_open(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 1); /* no new spool */
    assert_letters(&rig, "1 2 ");
    rig_fini(&rig);
}

static void a_catalogue_that_is_older_takes_what_it_lacks(void **state)
{
    (void)state;
    struct store_rig rig;
    char *older;
    size_t size;
    rig_init(&rig, 0);
    rig_open(&rig);
    put_letters(&rig, 3);
    rig_close(&rig);
    assert_ok(
        plat_file_load(path_in(&rig, "catalogue.db"), 1 << 24, &older, &size, &rig.err), &rig);
    rig_open(&rig);
    put_letters(&rig, 2);
    tell_gone(&rig, 0, 2);
    rig_close(&rig);
    assert_ok(
        plat_file_replace(path_in(&rig, "catalogue.db"), span_make(older, size), &rig.err), &rig);
    rig_open(&rig);
    assert_letters(&rig, "1 3 4 5 ");
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    /* Only the removed letters are missing there. */
    rig_close(&rig);
    tell_gone(&rig, 0, 5);
    rig_open(&rig);
    assert_letters(&rig, "1 3 4 ");
    free(older);
    rig_fini(&rig);
}

static void letters_that_cannot_be_read_are_a_gap(void **state)
{
    (void)state;
    struct store_rig rig;
    struct catalogue_gap gap = {.count = 0};
    char name[100];
    char *data;
    size_t size;
    rig_init(&rig, 0);
    rig_open(&rig);
    put_letters(&rig, 4);
    snprintf(name, sizeof(name), "%s/%016x-%016x.let", STORE_LETTERS_FOLDER, 1U, 1U);
    assert_ok(plat_file_load(path_in(&rig, name), 1 << 20, &data, &size, &rig.err), &rig);
    data[size - 1] ^= 1; /* within the last one's document */
    assert_ok(plat_file_replace(path_in(&rig, name), span_make(data, size), &rig.err), &rig);
    free(data);
    lose_catalogue(&rig);
    rig_open(&rig);
    assert_letters(&rig, "1 2 3 ");
    assert_int_equal(store_letters_lost(rig.store), 1);
    assert_ok(
        catalogue_gaps(store_catalogue(rig.store, &rig.err), count_gap, &gap, &rig.err), &rig);
    assert_int_equal(gap.count, 1);
    assert_true(gap.exact);
    /* Reported once: the files are correct again. */
    lose_catalogue(&rig);
    rig_open(&rig);
    assert_letters(&rig, "1 2 3 ");
    assert_int_equal(store_letters_lost(rig.store), 0);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_come_back_and_their_numbers_go_on),
        cmocka_unit_test(letters_are_all_that_a_spool_may_have_left),
        cmocka_unit_test(a_catalogue_that_is_older_takes_what_it_lacks),
        cmocka_unit_test(letters_that_cannot_be_read_are_a_gap),
    };
    return cmocka_run_group_tests_name("store/rebuild_letters", tests, NULL, NULL);
}

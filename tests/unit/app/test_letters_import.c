#include "app/letters_import.h"

#include <stdio.h>

#include "pipeline/dead_letters.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/catalogue_letters.h"
#include "store/catalogue_sources.h"
#include "support/temp_folder.h"
#include "support/test.h"

enum { PATH_BYTES = TEMP_FOLDER_BYTES + 64 };

/* A data folder with a durable spool's catalogue. */
struct rig {
    char root[TEMP_FOLDER_BYTES];
    char letters[PATH_BYTES];
    char catalogue[PATH_BYTES];
};

static void setup(struct rig *rig)
{
    struct error err = {0};
    char spool[PATH_BYTES];
    assert_int_equal(temp_folder_make(rig->root, "import"), 0);
    snprintf(rig->letters, sizeof(rig->letters), "%s/dead_letters", rig->root);
    snprintf(spool, sizeof(spool), "%s/spool", rig->root);
    snprintf(rig->catalogue, sizeof(rig->catalogue), "%s/spool/catalogue.db", rig->root);
    assert_true(plat_dir_create(spool, &err));
    struct catalogue *catalogue = catalogue_create(rig->catalogue, 7, span_text("here"), &err);
    assert_non_null(catalogue);
    assert_true(catalogue_commit(catalogue, &err));
    catalogue_close(catalogue);
}

static void teardown(struct rig *rig)
{
    assert_int_equal(temp_folder_remove(rig->root), 0);
}

/* Letters as a run with its spool in memory leaves them. */
static void leave(struct rig *rig, size_t count)
{
    struct error err = {0};
    const struct dead_letters_folder_settings settings = {.folder = rig->letters};
    struct dead_letters *letters = dead_letters_folder_create(&settings, &err);
    assert_non_null(letters);
    for (size_t i = 0; i < count; i++) {
        const struct dead_letter letter = {.time = UINT64_C(134397612001234567),
            .output = span_text("siem"),
            .document = span_text("{\"a\":1}")};
        assert_true(letters->ops->put(letters, &letter, 1, &err));
    }
    dead_letters_destroy(letters);
}

static bool count_one(void *self, const struct dead_letter *letter)
{
    (void)letter;
    (*(size_t *)self)++;
    return true;
}

static size_t left(struct rig *rig)
{
    struct error err = {0};
    size_t count = 0;
    const struct dead_letters_folder_settings settings = {.folder = rig->letters};
    struct dead_letters *letters = dead_letters_folder_create(&settings, &err);
    assert_non_null(letters);
    assert_true(letters->ops->each(letters, count_one, &count, &err));
    dead_letters_destroy(letters);
    return count;
}

static size_t taken(struct rig *rig)
{
    struct error err = {0};
    size_t count = 0;
    const struct dead_letters_catalogue_settings settings = {.path = rig->catalogue};
    struct dead_letters *letters = dead_letters_catalogue_create(&settings, &err);
    assert_non_null(letters);
    assert_true(letters->ops->each(letters, count_one, &count, &err));
    dead_letters_destroy(letters);
    return count;
}

static void import(struct rig *rig, uint64_t expected)
{
    struct error err = {0};
    uint64_t count = UINT64_MAX;
    assert_true(letters_import(rig->root, &count, &err));
    assert_string_equal(err.text, "");
    assert_int_equal(count, expected);
    assert_int_equal(left(rig), 0);
}

static void each_letter_comes_once(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig);
    import(&rig, 0);
    leave(&rig, 3);
    import(&rig, 3);
    import(&rig, 0);
    leave(&rig, 2);
    import(&rig, 2);
    assert_int_equal(taken(&rig), 5);
    teardown(&rig);
}

static void letters_of_a_folder_that_was_made_anew_come_too(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig);
    leave(&rig, 5);
    import(&rig, 5);
    assert_int_equal(temp_folder_remove(rig.letters), 0);
    leave(&rig, 3);
    import(&rig, 3);
    assert_int_equal(taken(&rig), 8);
    teardown(&rig);
}

/* The letters are in the catalogue, with the mark, and a kill has kept them from being removed. */
static void letters_that_a_kill_has_left_do_not_come_twice(void **state)
{
    (void)state;
    struct error err = {0};
    struct rig rig;
    setup(&rig);
    leave(&rig, 3);
    import(&rig, 3);
    assert_int_equal(temp_folder_remove(rig.letters), 0);
    leave(&rig, 3);
    struct catalogue *catalogue = catalogue_open(rig.catalogue, CATALOGUE_WRITE, &err);
    assert_non_null(catalogue);
    assert_true(catalogue_begin(catalogue, &err) &&
                catalogue_put_state(catalogue, span_text("/letters"), span_text("3"), &err) &&
                catalogue_commit(catalogue, &err));
    catalogue_close(catalogue);
    leave(&rig, 2);
    import(&rig, 2);
    assert_int_equal(taken(&rig), 5);
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_letter_comes_once),
        cmocka_unit_test(letters_of_a_folder_that_was_made_anew_come_too),
        cmocka_unit_test(letters_that_a_kill_has_left_do_not_come_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/deliver/dead_letters.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* While letters are put, the owner of a catalogue moves it away and makes another one: at the last
 * moment before a commit, of which SQLite tells. */
enum { PATH_BYTES = TEMP_FOLDER_BYTES + 64 };

static char root[TEMP_FOLDER_BYTES];
static char path[PATH_BYTES];
static bool is_armed;
static bool is_remade;

static void make_catalogue(void)
{
    struct error err = {0};
    struct catalogue *catalogue = catalogue_create(path, 7, span_text("here"), &err);
    assert_non_null(catalogue);
    assert_true(catalogue_commit(catalogue, &err));
    catalogue_close(catalogue);
}

static void move_away(const char *suffix)
{
    char from[PATH_BYTES + 8];
    char to[PATH_BYTES + 16];
    snprintf(from, sizeof(from), "%s%s", path, suffix);
    snprintf(to, sizeof(to), "%s.old%s", path, suffix);
    rename(from, to);
}

static int on_commit(void *self)
{
    (void)self;
    if (is_armed) {
        is_armed = false;
        move_away("");
        move_away("-wal");
        move_away("-shm");
        if (is_remade) {
            make_catalogue();
        }
    }
    return 0;
}

static int watch(sqlite3 *db, const char **ret_text, const struct sqlite3_api_routines *api)
{
    (void)ret_text;
    (void)api;
    sqlite3_commit_hook(db, on_commit, NULL);
    return SQLITE_OK;
}

static int begin(void **state)
{
    (void)state;
    if (temp_folder_make(root, "replaced") != 0) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/catalogue.db", root);
    make_catalogue();
    return sqlite3_auto_extension((void (*)(void))watch);
}

static int end(void **state)
{
    (void)state;
    sqlite3_reset_auto_extension();
    return temp_folder_remove(root);
}

static struct dead_letters *open_letters(void)
{
    struct error err = {0};
    const struct dead_letters_catalogue_settings settings = {.path = path};
    struct dead_letters *letters = dead_letters_catalogue_create(&settings, &err);
    assert_non_null(letters);
    return letters;
}

static bool put(struct dead_letters *letters, const char *document, struct error *err)
{
    const struct dead_letter letter = {
        .time = 5, .output = span_text("siem"), .document = span_text(document)};
    return letters->ops->put(letters, &letter, 1, err);
}

static bool note(void *self, const struct dead_letter *letter)
{
    buf_printf(self, "%.*s ", SPAN_ARG(letter->document));
    return true;
}

static void assert_kept(struct dead_letters *letters, const char *want)
{
    struct error err = {0};
    struct buf seen;
    buf_init(&seen, 1000);
    assert_true(letters->ops->each(letters, note, &seen, &err));
    assert_span(buf_span(&seen), want);
    buf_fini(&seen);
}

/* Files of the catalogue that this process has open. */
static size_t count_open(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[PATH_BYTES];
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, name, sizeof(name) - 1);
        name[size > 0 ? size : 0] = 0;
        count += strncmp(name, root, strlen(root)) == 0;
    }
    closedir(folder);
    return count;
}

static bool look_once(void *self, const struct dead_letter *letter)
{
    (void)letter;
    *(size_t *)self = count_open();
    return false;
}

static void between_calls_no_file_is_open(void **state)
{
    (void)state;
    struct error err = {0};
    uint64_t removed = 0;
    size_t open = 0;
    const uint64_t id = 1;
    struct dead_letters *letters = open_letters();
    assert_true(put(letters, "a", &err));
    assert_int_equal(count_open(), 0);
    assert_true(letters->ops->each(letters, look_once, &open, &err));
    assert_int_not_equal(open, 0); /* so an open file would be seen */
    assert_int_equal(count_open(), 0);
    assert_true(letters->ops->remove(letters, &id, 1, &removed, &err));
    assert_int_equal(removed, 1);
    assert_int_equal(count_open(), 0);
    dead_letters_destroy(letters);
}

static void a_letter_is_in_the_catalogue_that_took_the_place_of_the_one_it_was_put_into(
    void **state)
{
    (void)state;
    struct error err = {0};
    struct dead_letters *letters = open_letters();
    assert_true(put(letters, "first", &err));
    is_armed = is_remade = true;
    assert_true(put(letters, "second", &err));
    assert_false(is_armed);
    assert_kept(letters, "second ");
    dead_letters_destroy(letters);
}

static void a_letter_put_into_what_was_removed_is_not_kept(void **state)
{
    (void)state;
    struct error err = {0};
    struct dead_letters *letters = open_letters();
    is_armed = true;
    is_remade = false;
    assert_false(put(letters, "lost", &err));
    assert_int_equal(err.code, ERR_MISSING);
    make_catalogue();
    assert_true(put(letters, "lost", &err));
    assert_kept(letters, "lost ");
    dead_letters_destroy(letters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(between_calls_no_file_is_open, begin, end),
        cmocka_unit_test_setup_teardown(
            a_letter_is_in_the_catalogue_that_took_the_place_of_the_one_it_was_put_into, begin,
            end),
        cmocka_unit_test_setup_teardown(a_letter_put_into_what_was_removed_is_not_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

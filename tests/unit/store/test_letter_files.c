#include "store/letters/letter_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "platform/plat_file.h"
#include "store/disk/frame.h"
#include "support/temp_folder.h"
#include "support/test.h"

static char root[TEMP_FOLDER_BYTES];

enum { PATH_BYTES = TEMP_FOLDER_BYTES + 100 };

struct rig {
    char folder[PATH_BYTES];
    struct error err;
    uint64_t skipped;
    char seen[4096]; /* "+7 " a letter, "-7 " removed, "<7 " all up to it removed, "!7 " damaged */
    bool whole;      /* letters are compared with letter_of */
};

static int begin(void **state)
{
    (void)state;
    return temp_folder_make(root, "letter-files");
}

static int end(void **state)
{
    (void)state;
    return temp_folder_remove(root);
}

static void setup(struct rig *rig, const char *name)
{
    *rig = (struct rig){.whole = true};
    snprintf(rig->folder, sizeof(rig->folder), "%s/%s", root, name);
}

static struct catalogue_letter letter_of(uint64_t id)
{
    return (struct catalogue_letter){.id = id,
        .time = UINT64_MAX - id,
        .status = -(int64_t)id,
        .epoch = id << 40,
        .record = id + 1,
        .output = span_text("siem"),
        .type = span_text("mapper_parsing_exception"),
        .reason = span_make("a\0b", 3),
        .route = span_text("logs-{x}"),
        .document_id = span_text("0123"),
        .document = span_text("{\"a\":1}")};
}

#define assert_done(call, rig)              \
    do {                                    \
        if (!(call)) {                      \
            fail_msg("%s", (rig).err.text); \
        }                                   \
    } while (0)

static void put(struct rig *rig, uint64_t first, size_t count, uint64_t gone_to)
{
    struct catalogue_letter letters[100];
    assert_true(count <= 100);
    for (size_t i = 0; i < count; i++) {
        letters[i] = letter_of(first + i);
    }
    const struct letter_files_change change = {
        .letters = letters, .count = count, .gone_to = gone_to, .next = first};
    assert_done(letter_files_append(rig->folder, &change, &rig->err), *rig);
}

static void add(struct rig *rig, char kind, uint64_t id)
{
    size_t used = strlen(rig->seen);
    snprintf(rig->seen + used, sizeof(rig->seen) - used, "%c%llu ", kind, (unsigned long long)id);
}

static bool on_letter(void *self, const struct catalogue_letter *letter)
{
    struct rig *rig = self;
    const struct catalogue_letter want = letter_of(letter->id);
    add(rig, '+', letter->id);
    if (rig->whole) {
        assert_true(letter->time == want.time);
        assert_true(letter->status == want.status);
        assert_true(letter->epoch == want.epoch);
        assert_true(letter->record == want.record);
        assert_true(span_equal(letter->output, want.output));
        assert_true(span_equal(letter->type, want.type));
        assert_true(span_equal(letter->reason, want.reason));
        assert_true(span_equal(letter->index, want.index));
        assert_true(span_equal(letter->route, want.route));
        assert_true(span_equal(letter->document_id, want.document_id));
        assert_true(span_equal(letter->document, want.document));
    }
    return true;
}

static bool on_gone(void *self, uint64_t to, struct span ids)
{
    if (to) {
        add(self, '<', to);
    }
    for (size_t i = 0; i < ids.size; i += 8) {
        add(self, '-', load_le64(ids.data + i));
    }
    return true;
}

static bool on_damaged(void *self, uint64_t id)
{
    add(self, '!', id);
    return true;
}

static void assert_seen(struct rig *rig, const char *want)
{
    const struct letter_files_reader reader = {
        .letter = on_letter, .gone = on_gone, .damaged = on_damaged, .self = rig};
    rig->seen[0] = '\0';
    assert_done(letter_files_read(rig->folder, &reader, &rig->skipped, &rig->err), *rig);
    assert_string_equal(rig->seen, want);
}

static uint64_t file_count(const struct rig *rig)
{
    uint64_t files;
    letter_files_bytes(rig->folder, &files);
    return files;
}

/* The only file. */
static const char *path_of(const struct rig *rig, unsigned number, unsigned first)
{
    static char path[PATH_BYTES + 50];
    snprintf(path, sizeof(path), "%s/%016x-%016x.let", rig->folder, number, first);
    return path;
}

static struct span load(const struct rig *rig, char **ret_data)
{
    size_t size;
    struct error err;
    assert_true(plat_file_load(path_of(rig, 1, 1), 1 << 20, ret_data, &size, &err));
    return span_make(*ret_data, size);
}

/* ---- tests ---- */

static void without_a_folder_there_is_nothing(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "none");
    assert_seen(&rig, "");
    assert_int_equal(letter_files_bytes(rig.folder, &rig.skipped), 0);
    letter_files_trim(rig.folder, UINT64_MAX);
    assert_false(temp_file_is_there(rig.folder));
}

static void what_was_put_and_what_is_gone_is_read_in_order(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "order");
    put(&rig, 1, 3, 0);
    const struct letter_files_change gone = {
        .gone = (const uint64_t[]){2, 9}, .gone_count = 2, .next = 4};
    assert_done(letter_files_append(rig.folder, &gone, &rig.err), rig);
    put(&rig, 4, 2, 1);
    assert_seen(&rig, "+1 +2 +3 -2 -9 +4 +5 <1 ");
    assert_int_equal(rig.skipped, 0);
    assert_int_equal(file_count(&rig), 1);
}

static void letters_without_an_id_are_left_out(void **state)
{
    (void)state;
    struct rig rig;
    struct catalogue_letter letters[] = {letter_of(1), letter_of(0), letter_of(3)};
    setup(&rig, "left-out");
    const struct letter_files_change change = {.letters = letters, .count = 3, .next = 1};
    assert_done(letter_files_append(rig.folder, &change, &rig.err), rig);
    assert_seen(&rig, "+1 +3 ");
}

/* Each byte of the file in turn: at most the letter with that byte is lost, and never silently. */
static void damage_costs_the_letter_that_it_hits(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "damage");
    put(&rig, 1, 3, 0);
    char *data;
    struct span bytes = load(&rig, &data);
    char *broken = malloc(bytes.size);
    assert_non_null(broken);
    for (size_t i = 0; i < bytes.size; i++) {
        memcpy(broken, data, bytes.size);
        broken[i] ^= 0x10;
        assert_true(
            plat_file_replace(path_of(&rig, 1, 1), span_make(broken, bytes.size), &rig.err));
        const struct letter_files_reader reader = {
            .letter = on_letter, .gone = on_gone, .damaged = on_damaged, .self = &rig};
        rig.seen[0] = '\0';
        assert_done(letter_files_read(rig.folder, &reader, &rig.skipped, &rig.err), rig);
        unsigned good = 0;
        for (const char *c = rig.seen; (c = strchr(c, '+')); c++) {
            good++;
        }
        assert_true(good >= 2);
        assert_true(good == 3 || strchr(rig.seen, '!') || rig.skipped >= FRAME_HEAD_BYTES);
        assert_true(good == 2 || rig.skipped || i < FRAME_SEGMENT_HEAD_BYTES);
    }
    free(broken);
    free(data);
}

static void a_file_that_was_cut_gives_what_is_left_of_it_and_takes_more(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "cut");
    put(&rig, 1, 2, 0);
    char *data;
    struct span bytes = load(&rig, &data);
    free(data);
    assert_true(temp_file_cut(path_of(&rig, 1, 1), bytes.size - 10));
    put(&rig, 3, 1, 0);
    assert_seen(&rig, "+1 !2 +3 ");
    /* A file without its head gets no more letters. */
    assert_true(temp_file_cut(path_of(&rig, 1, 1), 20));
    put(&rig, 4, 1, 0);
    assert_int_equal(file_count(&rig), 2);
    assert_seen(&rig, "+4 ");
    assert_int_equal(rig.skipped, 20);
}

/* A full disk leaves a file without a byte at each attempt. */
static void a_file_without_a_byte_is_written_to(void **state)
{
    (void)state;
    struct rig rig;
    setup(&rig, "empty");
    put(&rig, 1, 2, 0);
    assert_true(temp_file_cut(path_of(&rig, 1, 1), 0));
    put(&rig, 3, 1, 0);
    put(&rig, 4, 1, 0);
    assert_int_equal(file_count(&rig), 1);
    assert_seen(&rig, "+3 +4 ");
    assert_int_equal(rig.skipped, 0);
}

/* Documents of a megabyte fill a file with eight. */
static void files_that_hold_nothing_more_are_removed(void **state)
{
    (void)state;
    enum { DOCUMENT = 1 << 20, LETTERS = 20 };
    struct rig rig;
    char *document = calloc(1, DOCUMENT);
    assert_non_null(document);
    setup(&rig, "trim");
    rig.whole = false;
    for (uint64_t id = 1; id <= LETTERS; id++) {
        struct catalogue_letter letter = letter_of(id);
        letter.document = span_make(document, DOCUMENT);
        const struct letter_files_change change = {.letters = &letter, .count = 1, .next = id};
        assert_done(letter_files_append(rig.folder, &change, &rig.err), rig);
    }
    free(document);
    assert_int_equal(file_count(&rig), 3);
    letter_files_trim(rig.folder, 8); /* it is in the first file */
    assert_int_equal(file_count(&rig), 3);
    letter_files_trim(rig.folder, 9);
    assert_int_equal(file_count(&rig), 2);
    assert_seen(&rig, "+9 +10 +11 +12 +13 +14 +15 +16 +17 +18 +19 +20 ");
    letter_files_trim(rig.folder, UINT64_MAX);
    assert_int_equal(file_count(&rig), 1); /* the newest file has the numbers */
    assert_seen(&rig, "+17 +18 +19 +20 ");
}

static void letters_of_a_catalogue_are_written_again(void **state)
{
    (void)state;
    struct rig rig;
    char path[PATH_BYTES + 10];
    setup(&rig, "rewrite");
    put(&rig, 1, 50, 0);
    snprintf(path, sizeof(path), "%s.db", rig.folder);
    struct catalogue *catalogue = catalogue_create(path, 7, span_text("here"), &rig.err);
    assert_non_null(catalogue);
    for (uint64_t id = 7; id < 10; id++) {
        const struct catalogue_letter letter = letter_of(id);
        struct catalogue_letter named = letter;
        named.document_id = span_make(NULL, 0);
        assert_done(catalogue_restore_letter(catalogue, &named, &rig.err), rig);
    }
    rig.whole = false;
    assert_done(letter_files_rewrite(rig.folder, catalogue, &rig.err), rig);
    assert_done(catalogue_commit(catalogue, &rig.err), rig);
    catalogue_close(catalogue);
    assert_seen(&rig, "+7 +8 +9 ");
    assert_int_equal(file_count(&rig), 1);
    put(&rig, 10, 1, 0);
    assert_seen(&rig, "+7 +8 +9 +10 ");
    assert_int_equal(file_count(&rig), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_folder_there_is_nothing),
        cmocka_unit_test(what_was_put_and_what_is_gone_is_read_in_order),
        cmocka_unit_test(letters_without_an_id_are_left_out),
        cmocka_unit_test(damage_costs_the_letter_that_it_hits),
        cmocka_unit_test(a_file_that_was_cut_gives_what_is_left_of_it_and_takes_more),
        cmocka_unit_test(a_file_without_a_byte_is_written_to),
        cmocka_unit_test(files_that_hold_nothing_more_are_removed),
        cmocka_unit_test(letters_of_a_catalogue_are_written_again),
    };
    return cmocka_run_group_tests_name("store/letter_files", tests, begin, end);
}

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "unit/store/store_rig.h"

/*
 * A process works with a store, and is ended at every named step in turn. Then another process
 * continues. A pipe has the reports of the first one from before its end: its promises must be
 * true, and the whole sequence must arrive, with every batch in the store once and no number used
 * twice.
 */
enum { LAST = 24, BEFORE = 10, TIMES = 2, MOST = 20000 };

static const char *const steps[] = {
#define STORE_STEP(name) name,
#include "store/store_steps.def"
#undef STORE_STEP
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

/* The reports of the working process. */
enum word {
    WORD_NUMBERS,   /* number of a batch, its first record number, how many, epoch */
    WORD_ACCEPTED,  /* up to which number */
    WORD_DELIVERED, /* which number */
    WORD_STEP,      /* taken: which */
};

struct message {
    uint64_t word;
    uint64_t values[4];
};

struct work {
    struct store_rig rig;
    struct disk full; /* the system's, with an append that finds no room at times */
    struct disk_ops full_ops;
    unsigned full_appends; /* still to come */
    const char *end_at;
    unsigned end_after; /* so many more steps of that name */
    int pipe[2];
};

static struct work work;

static void say(enum word word, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const struct message message = {.word = word, .values = {a, b, c, d}};
    if (write(work.pipe[1], &message, sizeof(message)) != sizeof(message)) {
        _exit(3);
    }
}

static void on_step(void *self, const char *name)
{
    (void)self;
    for (size_t i = 0; i < STEPS; i++) {
        if (strcmp(steps[i], name) == 0) {
            say(WORD_STEP, i, 0, 0, 0);
            if (work.end_at && strcmp(name, work.end_at) == 0 && work.end_after-- == 0) {
                _exit(7);
            }
            return;
        }
    }
    _exit(4); /* not in the list */
}

static bool append_or_full(struct disk *disk, struct disk_file *file, const struct span *pieces,
    size_t count, struct error *err)
{
    (void)disk;
    if (work.full_appends) {
        work.full_appends--;
        return error_set(err, ERR_FULL, "the disk is full");
    }
    return disk_system()->ops->append(disk_system(), file, pieces, count, err);
}

/* ---- the work -------------------------------------------------------------------------------- */

static void deliver(struct store_rig *rig, size_t output, size_t most)
{
    struct store_row rows[10];
    size_t count = 0;
    assert_ok(store_next(rig->store, output, 0, rows, most, &count, &rig->err), rig);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = rig_number(rig, &rows[i], "json");
        assert_true(number != 0);
        if (output == 0) {
            say(WORD_DELIVERED, number, 0, 0, 0);
        }
    }
    if (count) {
        const struct span checkpoint = span_text("so far");
        assert_ok(
            store_progress(rig->store,
                &(struct store_progress){
                    .output = output, .position = rows[count - 1].id, .checkpoint = &checkpoint},
                &rig->err),
            rig);
    }
}

static void lose(void *self, size_t output, struct span name, const struct store_row *row)
{
    (void)self;
    (void)name;
    (void)row;
    assert_true(output != 0); /* the first output does not lag */
}

/* The second output is so slow that it loses events. */
static void drop(struct store_rig *rig)
{
    const struct store_loss loss = {.lost = lose};
    uint64_t count;
    bool is_slow = rig_waiting(rig, 1, "json")[0] != '\0';
    bool is_behind = is_slow && (rig_waiting(rig, 0, "json")[0] == '\0' ||
                                    rig_row(rig, 1, 0).segment < rig_row(rig, 0, 0).segment);
    if (is_behind) {
        assert_ok(store_drop(rig->store, STORE_DROP_FULL, &loss, &count, &rig->err), rig);
    }
}

static void settle_all(struct store_rig *rig, size_t output)
{
    while (rig_waiting(rig, output, "json")[0]) {
        deliver(rig, output, 10);
        rig_commit(rig);
    }
}

/* Open the store and continue the sequence up to ${last}. */
static void go_on(struct store_rig *rig, uint64_t last)
{
    struct store_row row;
    rig_open(rig);
    assert_int_equal(rig_output(rig, "siem", "json"), 0);
    assert_int_equal(rig_output(rig, "slow", "json"), 1);
    uint64_t number = rig_source(rig, "json");
    say(WORD_ACCEPTED, number, 0, 0, 0);
    while (number < last) {
        for (int i = 0; i < 2 && number < last; i++) {
            row = rig_append(rig, "json", ++number);
            say(WORD_NUMBERS, number, row.first_record, row.records, row.epoch);
        }
        if (number % 9 == 0) { /* an uncommitted part that is cut back, and then written again */
            work.full_appends = 1;
            assert_false(rig_try_commit(rig));
        }
        rig_commit(rig);
        say(WORD_ACCEPTED, number, 0, 0, 0);
        deliver(rig, 0, 3);
        if (number % 7 == 0) {
            drop(rig);
        }
        if (number % 5 == 0) {
            deliver(rig, 1, 2);
        }
    }
}

/* ---- the scenes ------------------------------------------------------------------------------ */

enum scene {
    SCENE_EMPTY,
    SCENE_KILLED,        /* with a part that is not committed */
    SCENE_NO_CATALOGUE,  /* it is garbage, and so are a file and the end of another */
    SCENE_OLD_CATALOGUE, /* a copy from before the last run */
    SCENES
};

static void put_garbage(const char *path, const char *name, enum plat_file_mode mode)
{
    char whole[400];
    struct error err;
    snprintf(whole, sizeof(whole), "%s/%s", path, name);
    struct plat_file *file = plat_file_open(whole, mode, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_text("this is no such thing, but garbage"), &err));
    plat_file_close(file);
}

static void copy_catalogue(const char *path, const char *from, const char *to)
{
    char whole[400];
    char *data;
    size_t size;
    struct error err;
    snprintf(whole, sizeof(whole), "%s/%s", path, from);
    assert_true(plat_file_load(whole, 1 << 24, &data, &size, &err));
    snprintf(whole, sizeof(whole), "%s/%s", path, to);
    struct plat_file *file = plat_file_open(whole, PLAT_FILE_CREATE, &err);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_make(data, size), &err));
    plat_file_close(file);
    free(data);
}

static bool first_segment(void *self, const char *name)
{
    bool is_one = strlen(name) == 20 && strcmp(name + 16, ".seg") == 0;
    if (is_one) {
        memcpy(self, name, 21);
    }
    return !is_one;
}

/* Work in a process of its own; its reports are added to ${all}. Returns its exit code. */
static int work_apart(uint64_t last, struct message *all, size_t *count)
{
    assert_int_equal(pipe(work.pipe), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(work.pipe[0]);
        go_on(&work.rig, last);
        if (last == LAST) {
            settle_all(&work.rig, 0);
            settle_all(&work.rig, 1);
            rig_commit(&work.rig);
        }
        rig_close(&work.rig);
        _exit(0);
    }
    close(work.pipe[1]);
    struct message message;
    ssize_t got;
    while ((got = read(work.pipe[0], &message, sizeof(message))) > 0) {
        assert_int_equal(got, sizeof(message));
        assert_true(*count < MOST);
        all[(*count)++] = message;
    }
    close(work.pipe[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void set_scene(enum scene scene, struct message *all, size_t *count)
{
    char name[64] = "";
    const char *path = work.rig.path;
    work.end_at = NULL;
    if (scene == SCENE_EMPTY) {
        return;
    }
    assert_int_equal(work_apart(BEFORE / 2, all, count), 0);
    copy_catalogue(path, "catalogue.db", "copy");
    work.end_at = scene == SCENE_KILLED ? "commit begin" : NULL;
    work.end_after = 3;
    assert_int_equal(work_apart(BEFORE, all, count), scene == SCENE_KILLED ? 7 : 0);
    if (scene == SCENE_NO_CATALOGUE) {
        put_garbage(path, "catalogue.db", PLAT_FILE_CREATE);
        put_garbage(path, "00000000000000f0.seg", PLAT_FILE_CREATE);
        assert_true(plat_dir_files(path, first_segment, name, NULL));
        put_garbage(path, name, PLAT_FILE_APPEND);
    }
    if (scene == SCENE_OLD_CATALOGUE) {
        char log[400];
        snprintf(log, sizeof(log), "%s/catalogue.db-wal", path);
        assert_true(plat_path_remove(log, NULL));
        copy_catalogue(path, "copy", "catalogue.db");
    }
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void check_all(const struct message *all, size_t count, enum scene scene, bool *reached)
{
    bool delivered[LAST + 1] = {false};
    uint64_t accepted = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *values = all[i].values;
        switch ((enum word)all[i].word) {
        case WORD_ACCEPTED:
            assert_true(values[0] >= accepted);
            accepted = values[0];
            break;
        case WORD_DELIVERED:
            assert_true(values[0] <= accepted);
            delivered[values[0]] = true;
            break;
        case WORD_NUMBERS:
            for (size_t j = 0; j < i; j++) {
                const uint64_t *other = all[j].values;
                if (all[j].word == WORD_NUMBERS && other[3] == values[3]) {
                    assert_true(values[1] >= other[1] + other[2]);
                }
            }
            break;
        case WORD_STEP:
            reached[values[0]] = true;
            break;
        }
    }
    assert_int_equal(accepted, LAST);
    for (uint64_t number = 1; number <= LAST; number++) {
        if (!delivered[number]) {
            fail_msg("%llu was not delivered, scene %d", (unsigned long long)number, (int)scene);
        }
    }
}

/* The store of a process that was ended has each number once, in order, from the first one that
 * waits up to the position of the source. */
static void check_store(void)
{
    struct store_rig *rig = &work.rig;
    char expected[1000] = "";
    rig->settings.step = NULL;
    rig_open(rig);
    rig->settings.step = on_step;
    assert_int_equal(rig_output(rig, "siem", "json"), 0);
    uint64_t last = rig_source(rig, "json");
    const char *waiting = rig_waiting(rig, 0, "json");
    uint64_t first = waiting[0] ? strtoull(waiting, NULL, 10) : last + 1;
    for (uint64_t number = first; number <= last; number++) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof(expected) - used, "%s%llu", used ? " " : "",
            (unsigned long long)number);
    }
    assert_string_equal(waiting, expected);
    rig_close(rig);
}

static bool try_step(enum scene scene, const char *step, unsigned after, bool *reached)
{
    static struct message all[MOST];
    size_t count = 0;
    struct store_rig *rig = &work.rig;
    rig_init(rig, 0);
    work.full_ops = *disk_system()->ops;
    work.full_ops.append = append_or_full;
    work.full.ops = &work.full_ops;
    rig->settings.disk = &work.full;
    rig->settings.segment_bytes = 1536;
    rig->settings.step = on_step;
    set_scene(scene, all, &count);
    work.end_at = step;
    work.end_after = after;
    int code = work_apart(LAST, all, &count);
    bool ended = code == 7;
    assert_true(code == 7 || code == 0);
    work.end_at = NULL;
    if (ended) {
        if (scene != SCENE_NO_CATALOGUE && scene != SCENE_OLD_CATALOGUE) {
            check_store();
        }
        assert_int_equal(work_apart(LAST, all, &count), 0);
    }
    check_all(all, count, scene, reached);
    assert_int_equal(temp_folder_remove(rig->folder), 0);
    return ended;
}

static void an_end_at_any_step_loses_nothing(void **state)
{
    (void)state;
    size_t ends[STEPS] = {0};
    size_t all = 0;
    for (enum scene scene = SCENE_EMPTY; scene < SCENES; scene++) {
        bool reached[STEPS] = {false};
        bool reached_now[STEPS];
        try_step(scene, NULL, 0, reached);
        memcpy(reached_now, reached, sizeof(reached));
        for (size_t i = 0; i < STEPS; i++) {
            /* Steps that an earlier scene has tried often enough are not tried again. */
            for (unsigned after = 0; reached_now[i] && ends[i] < TIMES && after < TIMES; after++) {
                ends[i] += try_step(scene, steps[i], after * 3, reached);
            }
        }
    }
    for (size_t i = 0; i < STEPS; i++) {
        if (ends[i] == 0) {
            fail_msg("nobody was ended at step \"%s\"", steps[i]);
        }
        all += ends[i];
    }
    print_message("%zu processes were ended at %d steps\n", all, (int)STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_at_any_step_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "input/windows/etw_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "platform/plat_child.h"
#include "platform/plat_file.h"
#include "platform/plat_rights.h"
#include "platform/plat_self.h"
#include "support/await.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * Processes that are traced by name, without a session: each case says itself when the agent looks.
 *
 * The processes are copies of this program under another name: `test FOLDER` waits for FOLDER/end.
 */
enum { LOOK_NS = 10 };

static char folder[TEMP_FOLDER_BYTES];
static char name[64];
static char path[512];
static char line[1024];
static const char *names[1];
static struct config_strings wanted = {.items = names, .count = 1};
static struct etw_plan plan;
static struct buf notes;

static void add_note(void *self, enum input_note level, const char *text)
{
    (void)self;
    buf_printf(&notes, "%s %s\n", level == INPUT_NOTE_WARNING ? "!" : "-", text);
}

static size_t count_notes(const char *what)
{
    size_t count = 0;
    buf_add_byte(&notes, 0);
    for (const char *at = (const char *)notes.data; (at = strstr(at, what)); at++) {
        count++;
    }
    notes.size--;
    return count;
}

static int set_up(void **state)
{
    (void)state;
    char *program = plat_rights_program(NULL);
    if (!program || temp_folder_make(folder, "targets") != 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "targets-%u.exe", plat_process_id());
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(line, sizeof(line), "\"%s\" \"%s\"", path, folder);
    bool good = temp_file_copy_program(program, path);
    free(program);
    names[0] = name;
    plan = (struct etw_plan){.kind = ETW_PLAN_HEAP, .name = "etwship-test"};
    plan.heap.names = &wanted;
    buf_init(&notes, 1 << 16);
    return good ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&notes);
    /* Windows releases a program's file a little after the program has ended. */
    AWAIT(temp_folder_remove(folder) == 0);
    return 0;
}

static struct etw_targets *create(void)
{
    const struct input_env env = {.name = "test", .note = add_note};
    struct etw_targets *targets = etw_targets_create(&plan, &env, LOOK_NS);
    assert_non_null(targets);
    return targets;
}

static bool add_pid(void *self, uint32_t pid)
{
    uint32_t *wanted_pid = self;
    if (*wanted_pid == pid) {
        *wanted_pid = 0;
        return false;
    }
    return true;
}

static bool has_its_name(const struct plat_child *child)
{
    uint32_t pid = plat_child_pid(child);
    assert_true(plat_child_find(name, add_pid, &pid, NULL));
    return pid == 0;
}

static struct plat_child *run_one(void)
{
    struct plat_child *child = plat_child_launch(line, folder, NULL);
    assert_non_null(child);
    assert_true(plat_child_go(child, NULL));
    AWAIT(has_its_name(child));
    return child;
}

static void end_one(struct plat_child *child)
{
    plat_child_kill(child);
    plat_child_close(child);
}

/* Between two looks all of them end and one begins: it needs a session of its own, because the
 * running session has the process ids of processes that are gone. */
static void one_that_begins_anew_is_asked_for_again(void **state)
{
    (void)state;
    const struct etw_session_state running = {.buffers_written = 1};
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    size_t count = 0;
    struct error err = {0};
    struct plat_child *child = run_one();
    struct etw_targets *targets = create();
    assert_true(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], plat_child_pid(child));
    etw_targets_look(targets, &running, 1);
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_RUN);

    end_one(child);
    child = run_one();
    etw_targets_look(targets, &running, 1 + LOOK_NS);
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_AWAY);
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_AWAY);
    assert_int_equal(count_notes("have ended"), 1);
    assert_true(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], plat_child_pid(child));
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_RUN);

    end_one(child);
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_AWAY);
    assert_int_equal(count_notes("have ended"), 2);
    assert_false(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_int_equal(etw_targets_ended(targets), ETW_TARGETS_AWAY);
    assert_int_equal(count_notes("have ended"), 2);
    etw_targets_destroy(targets);
}

/* As if Windows could not add them to a running session. */
static void a_new_session_has_those_that_came_since(void **state)
{
    (void)state;
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    size_t count = 0;
    struct error err = {0};
    struct plat_child *first = run_one();
    struct etw_targets *targets = create();
    assert_true(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(count, 1);
    struct plat_child *second = run_one();
    assert_true(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(pids[0], plat_child_pid(first));
    assert_int_equal(pids[1], plat_child_pid(second));
    etw_targets_destroy(targets);
    end_one(first);
    end_one(second);
}

/* Processes that never ran have this program's name; with the program itself they are one more than
 * the limit. */
static void what_is_beyond_the_most_is_told_once(void **state)
{
    (void)state;
    struct plat_child *children[ETW_MAX_HEAP_PROCESSES];
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    size_t count = 0;
    struct error err = {0};
    char *program = plat_rights_program(NULL);
    assert_non_null(program);
    for (const char *at = program; *at; at++) {
        names[0] = *at == '/' || *at == '\\' ? at + 1 : names[0];
    }
    snprintf(line, sizeof(line), "\"%s\" \"%s\"", program, folder);
    for (size_t i = 0; i < ETW_MAX_HEAP_PROCESSES; i++) {
        children[i] = plat_child_launch(line, folder, NULL);
        assert_non_null(children[i]);
    }
    struct etw_targets *targets = create();
    assert_true(etw_targets_get(targets, pids, &count, &err));
    assert_int_equal(count, ETW_MAX_HEAP_PROCESSES);
    assert_int_equal(count_notes("64 processes at most"), 1);
    etw_targets_look(targets, &(struct etw_session_state){0}, 1);
    etw_targets_look(targets, &(struct etw_session_state){0}, 1 + LOOK_NS);
    assert_int_equal(count_notes("64 processes at most"), 1);
    etw_targets_destroy(targets);
    for (size_t i = 0; i < ETW_MAX_HEAP_PROCESSES; i++) {
        plat_child_close(children[i]);
    }
    free(program);
}

/* Another traced process. */
static int play(const char *where)
{
    char end[512];
    snprintf(end, sizeof(end), "%s/end", where);
    return await_file(end) ? 0 : 1;
}

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    if (argc == 2) {
        return play(argv[1]);
    }
#define T(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(one_that_begins_anew_is_asked_for_again),
        T(a_new_session_has_those_that_came_since),
        T(what_is_beyond_the_most_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

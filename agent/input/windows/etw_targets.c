#include "input/windows/etw_targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "etw/etw_image_flags.h"
#include "input/windows/etw_note.h"
#include "input/windows/etw_tell.h"
#include "platform/plat_child.h"

/*
 * A launched program that has not run yet can be discarded: if its session cannot be started, it is
 * ended, and launched again with the next attempt. Once it runs, it is launched for good.
 */
enum { MANY_PROCESSES = 4 };

struct etw_targets {
    const struct etw_plan *plan;
    struct input_env env;
    struct plat_child *children[ETW_MAX_HEAP_PROCESSES];
    size_t count;
    bool has_run;    /* the program was launched and resumed */
    bool is_flagged; /* TracingFlags of the image must be restored by us */
    bool found_any;
    bool end_told;
    uint64_t look_ns;
    uint64_t next_look_ns;
    bool cannot_add;    /* this Windows cannot add processes to a session; reported once */
    bool has_left_some; /* more processes run than a session can have; reported once */
};

#define NOTE(of, ...) etw_tell((of)->env.note, (of)->env.self, __VA_ARGS__)

/* The program launched by earlier targets in this process. */
struct launched {
    struct guid line;
    uint64_t started;
    uint32_t pid;
    bool has_ended;
    bool ends_program; /* with its session */
};

/* Hash of the command line; another one is another program. */
static struct guid line_id(const struct etw_plan *plan)
{
    return guid_from_name(span_text(plan->heap.launch));
}

static bool read_takeover(const struct etw_targets *t, struct launched *ret_launched)
{
    struct span takeover = t->env.takeover;
    if (!t->plan->heap.launch || takeover.size != sizeof(*ret_launched)) {
        return false;
    }
    memcpy(ret_launched, takeover.data, sizeof(*ret_launched));
    struct guid line = line_id(t->plan);
    return guid_equal(&ret_launched->line, &line);
}

static void be_over(struct etw_targets *t)
{
    t->has_run = true;
    t->found_any = true;
    t->end_told = true;
}

struct etw_targets *etw_targets_create(
    const struct etw_plan *plan, const struct input_env *env, uint64_t look_ns)
{
    struct etw_targets *t = calloc(1, sizeof(*t));
    if (t) {
        t->plan = plan;
        t->env = *env;
        t->look_ns = look_ns;
        struct launched before;
        if (read_takeover(t, &before) && before.has_ended) {
            be_over(t);
        }
    }
    return t;
}

static void close_all(struct etw_targets *t)
{
    for (size_t i = 0; i < t->count; i++) {
        plat_child_close(t->children[i]);
    }
    t->count = 0;
}

void etw_targets_destroy(struct etw_targets *t)
{
    if (t) {
        close_all(t);
        free(t);
    }
}

/* ---- launched by an earlier run -------------------------------------------------------------- */

static const char launched_kind[] = "launched";

static const char *session_of(const struct etw_targets *t)
{
    return t->env.name ? t->env.name : "";
}

static void delete_note(const struct etw_targets *t)
{
    etw_note_remove(t->env.data_dir, session_of(t), launched_kind);
}

static void remember_launched(const struct etw_targets *t, const struct plat_child *child)
{
    char guid[GUID_TEXT_SIZE];
    char line[128];
    struct error err = {0};
    struct guid id = line_id(t->plan);
    guid_write(&id, guid);
    int size = snprintf(line, sizeof(line), "1 %.36s %" PRIu32 " %" PRIu64 " end\n", guid,
        plat_child_pid(child), plat_child_started(child));
    if (!etw_note_save(
            t->env.data_dir, session_of(t), launched_kind, span_make(line, (size_t)size), &err)) {
        NOTE(t, INPUT_NOTE_WARNING, "%s. the next run would launch the program again", err.text);
    }
}

static bool read_launched(const struct etw_targets *t, uint64_t *ret_pid, uint64_t *ret_started)
{
    struct etw_note left;
    struct guid id;
    struct guid wanted = line_id(t->plan);
    return etw_note_load(t->env.data_dir, session_of(t), launched_kind, &left) &&
           span_is(etw_note_word(&left), "1") && guid_parse(etw_note_word(&left), &id) &&
           etw_note_number(&left, UINT32_MAX, ret_pid) &&
           etw_note_number(&left, UINT64_MAX, ret_started) &&
           span_is(etw_note_word(&left), "end") && guid_equal(&id, &wanted);
}

/* Open it if it still runs. The start time distinguishes it from a later process with its id. */
static struct plat_child *open_launched(uint32_t pid, uint64_t started)
{
    struct plat_child *child = plat_child_open(pid, NULL);
    if (child && started && plat_child_started(child) != started) {
        plat_child_close(child);
        child = NULL;
    }
    return child;
}

static struct plat_child *find_launched(const struct etw_targets *t)
{
    uint64_t pid;
    uint64_t started;
    return read_launched(t, &pid, &started) ? open_launched((uint32_t)pid, started) : NULL;
}

/* ---- launching ------------------------------------------------------------------------------- */

static void put_flags_back(struct etw_targets *t)
{
    struct error err = {0};
    if (t->is_flagged && !etw_image_flags_restore(t->plan->heap.image, &err)) {
        NOTE(t, INPUT_NOTE_WARNING, "%s. every %s is still traced. remove its value TracingFlags",
            err.text, t->plan->heap.image);
    }
    t->is_flagged = false;
}

/* Tracing by process id also covers the program from its first instruction, so a failure to set the
 * flags does not matter otherwise. */
static void set_flags(struct etw_targets *t)
{
    struct error err = {0};
    t->is_flagged = etw_image_flags_set(t->plan->heap.image, t->plan->name, &err);
    if (!t->is_flagged && err.code != ERR_UNSUPPORTED) {
        NOTE(t, INPUT_NOTE_WARNING, "%s. heaps that %s creates during loading may be missing",
            err.text, t->plan->heap.image);
    }
}

static bool launch(struct etw_targets *t, struct error *err)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    if (t->has_run) {
        return error_set(err, ERR_CONFIG, "%s has ended", heap->image);
    }
    struct launched before;
    bool takes_over = read_takeover(t, &before);
    struct plat_child *child = takes_over ? open_launched(before.pid, before.started)
                                          : find_launched(t);
    if (child) {
        t->has_run = true;
        NOTE(t, INPUT_NOTE_INFO,
            "continues with %s, process %" PRIu32 ", launched by an earlier %s", heap->image,
            plat_child_pid(child), takes_over ? "configuration" : "run");
    } else if (takes_over) {
        be_over(t);
        delete_note(t);
        NOTE(t, INPUT_NOTE_INFO, "%s has ended", heap->image);
        return error_set(err, ERR_STOPPED, "%s has ended", heap->image);
    } else {
        set_flags(t);
        struct error why = {0};
        child = plat_child_launch(heap->launch, heap->folder, &why);
        if (!child) {
            put_flags_back(t);
            return error_set(err, ERR_CONFIG, "launch: %.400s", why.text);
        }
    }
    t->children[t->count++] = child;
    return true;
}

/* ---- running processes ----------------------------------------------------------------------- */

static bool has_process(const struct etw_targets *t, uint32_t pid)
{
    for (size_t i = 0; i < t->count; i++) {
        if (plat_child_pid(t->children[i]) == pid) {
            return true;
        }
    }
    return false;
}

static void tell_left(struct etw_targets *t)
{
    if (!t->has_left_some) {
        NOTE(t, INPUT_NOTE_WARNING,
            "processes: etwship traces the heaps of %d processes at most in a session. others of "
            "these names run, too, and are left out",
            ETW_MAX_HEAP_PROCESSES);
        t->has_left_some = true;
    }
}

/* False: too many. */
static bool add_process(struct etw_targets *t, uint32_t pid, struct error *err)
{
    if (has_process(t, pid)) {
        return true;
    }
    if (t->count == ETW_MAX_HEAP_PROCESSES) {
        tell_left(t);
        return false;
    }
    struct plat_child *child = plat_child_open(pid, err);
    if (child) {
        t->children[t->count++] = child;
    }
    return true;
}

static bool add_found(void *self, uint32_t pid)
{
    return add_process(self, pid, NULL); /* the process may have ended since */
}

static bool find_running(struct etw_targets *t, struct error *err)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    struct error why = {0};
    bool is_first = !t->found_any;
    for (size_t i = 0; i < heap->pid_count && (is_first || heap->names->count == 0); i++) {
        size_t before = t->count;
        add_process(t, heap->pids[i], &why);
        if (t->count == before && is_first && why.code) {
            NOTE(t, INPUT_NOTE_WARNING, "pids: %s", why.text);
        }
    }
    for (size_t i = 0; i < heap->names->count; i++) {
        plat_child_find(heap->names->items[i], add_found, t, NULL);
    }
    if (t->count == 0 && heap->names->count) {
        return error_set(err, ERR_STOPPED, "processes: none of them is running");
    }
    if (t->count == 0) {
        return error_set(
            err, ERR_CONFIG, "pids: none of the processes is running. %.200s", why.text);
    }
    if (t->count > MANY_PROCESSES && heap->names->count) {
        NOTE(t, INPUT_NOTE_WARNING,
            "processes: %zu traced processes may produce events faster than they can "
            "be read",
            t->count);
    }
    return true;
}

static void drop_ended(struct etw_targets *t)
{
    size_t left = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (plat_child_has_ended(t->children[i], NULL)) {
            plat_child_close(t->children[i]);
        } else {
            t->children[left++] = t->children[i];
        }
    }
    t->count = left;
}

bool etw_targets_get(
    struct etw_targets *t, uint32_t *ret_pids, size_t *ret_count, struct error *err)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    drop_ended(t);
    bool is_enough = t->count > 0 && (heap->launch || heap->names->count == 0);
    bool good = is_enough || (heap->launch ? launch(t, err) : find_running(t, err));
    t->found_any = t->found_any || good;
    t->end_told = t->end_told && !good;
    for (size_t i = 0; good && i < t->count; i++) {
        ret_pids[i] = plat_child_pid(t->children[i]);
    }
    *ret_count = t->count;
    return good;
}

bool etw_targets_are_fresh(const struct etw_targets *t)
{
    return t->plan->heap.launch && !t->has_run;
}

/* ---- while running --------------------------------------------------------------------------- */

bool etw_targets_go(struct etw_targets *t, struct error *err)
{
    if (!etw_targets_are_fresh(t)) {
        return true;
    }
    remember_launched(t, t->children[0]);
    if (!plat_child_go(t->children[0], err)) {
        delete_note(t);
        return false;
    }
    t->has_run = true;
    NOTE(t, INPUT_NOTE_INFO, "launched %s, process %" PRIu32, t->plan->heap.image,
        plat_child_pid(t->children[0]));
    return true;
}

/* Once all have ended, the session has nothing to trace: it restarts with the processes running
 * then (ETW_TARGETS_AWAY), so nothing is added to it. */
static void add_processes(struct etw_targets *t)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    struct error err = {0};
    drop_ended(t);
    const size_t before = t->count;
    if (before == 0) {
        return;
    }
    for (size_t i = 0; i < heap->names->count; i++) {
        plat_child_find(heap->names->items[i], add_found, t, NULL);
    }
    if (t->count == before) {
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        pids[i] = plat_child_pid(t->children[i]);
    }
    const struct etw_heap_request request = {.pids = pids,
        .pid_count = t->count,
        .stacks = heap->stacks,
        .stack_count = heap->stack_count};
    if (etw_heap_update(&t->plan->session, &request, &err)) {
        NOTE(t, INPUT_NOTE_INFO, "processes: %zu more are traced", t->count - before);
        return;
    }
    while (t->count > before) {
        plat_child_close(t->children[--t->count]);
    }
    t->cannot_add = true;
    NOTE(t, INPUT_NOTE_WARNING,
        "processes: new ones are traced after the next start of the session. %s", err.text);
}

void etw_targets_look(struct etw_targets *t, const struct etw_session_state *state, uint64_t now_ns)
{
    bool has_names = t->plan->heap.names->count > 0 && !t->cannot_add;
    if (t->next_look_ns == 0) {
        t->next_look_ns = now_ns + t->look_ns;
    } else if (has_names && now_ns >= t->next_look_ns) {
        t->next_look_ns = now_ns + t->look_ns;
        add_processes(t);
    }
    /* the first heap events exist, so the process has read its flags */
    if (t->is_flagged && state->buffers_written > 0) {
        put_flags_back(t);
    }
}

static void tell_end(struct etw_targets *t)
{
    uint32_t code = UINT32_MAX;
    if (t->plan->heap.launch) {
        plat_child_has_ended(t->children[0], &code);
        NOTE(t, INPUT_NOTE_INFO, "%s has ended with exit code %" PRIu32, t->plan->heap.image, code);
        delete_note(t);
    } else {
        NOTE(t, INPUT_NOTE_INFO, "all processes whose heaps were traced have ended");
    }
}

enum etw_targets_end etw_targets_ended(struct etw_targets *t)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    if (!t->found_any || etw_targets_are_fresh(t)) {
        return ETW_TARGETS_RUN;
    }
    for (size_t i = 0; i < t->count; i++) {
        if (!plat_child_has_ended(t->children[i], NULL)) {
            return ETW_TARGETS_RUN;
        }
    }
    if ((t->count || !heap->launch) && !t->end_told) {
        tell_end(t);
        t->end_told = true;
    }
    return heap->launch || heap->names->count == 0 ? ETW_TARGETS_OVER : ETW_TARGETS_AWAY;
}

/* ---- hand-over ------------------------------------------------------------------------------- */

bool etw_targets_goes_on(const struct etw_targets *t, const struct etw_targets *next)
{
    if (!t->plan->heap.launch || !next->plan->heap.launch) {
        return false;
    }
    struct guid a = line_id(t->plan);
    struct guid b = line_id(next->plan);
    return guid_equal(&a, &b);
}

void etw_targets_write_takeover(const struct etw_targets *t, struct buf *out)
{
    if (!t->has_run) {
        buf_add_span(out, t->env.takeover); /* not taken over */
        return;
    }
    struct launched launched;
    memset(&launched, 0, sizeof(launched));
    launched.line = line_id(t->plan);
    launched.has_ended = t->count == 0 || plat_child_has_ended(t->children[0], NULL);
    launched.ends_program = t->plan->heap.ends_program;
    if (!launched.has_ended) {
        launched.pid = plat_child_pid(t->children[0]);
        launched.started = plat_child_started(t->children[0]);
    }
    buf_add(out, &launched, sizeof(launched));
}

void etw_targets_end_takeover(struct span takeover)
{
    struct launched launched;
    if (takeover.size != sizeof(launched)) {
        return;
    }
    memcpy(&launched, takeover.data, sizeof(launched));
    struct plat_child *child = launched.has_ended || !launched.ends_program
                                   ? NULL
                                   : open_launched(launched.pid, launched.started);
    if (child) {
        plat_child_kill(child);
        plat_child_close(child);
    }
}

void etw_targets_end_session(struct etw_targets *t)
{
    put_flags_back(t);
    if (etw_targets_are_fresh(t)) {
        close_all(t);
    }
}

void etw_targets_stop(struct etw_targets *t)
{
    const struct etw_plan_heap *heap = &t->plan->heap;
    bool runs = heap->launch && t->has_run && t->count &&
                !plat_child_has_ended(t->children[0], NULL);
    if (runs && heap->ends_program) {
        plat_child_kill(t->children[0]);
        delete_note(t);
        NOTE(t, INPUT_NOTE_INFO, "ended %s, as on_stop says", heap->image);
    } else if (runs) {
        NOTE(t, INPUT_NOTE_INFO, "%s, process %" PRIu32 ", continues", heap->image,
            plat_child_pid(t->children[0]));
    }
}

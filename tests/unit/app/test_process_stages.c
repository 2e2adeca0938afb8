#include <stdio.h>

#include "base/bytes.h"
#include "event/model/kernel_groups.h"
#include "pipeline/source/source_gates.h"
#include "process/process_reader.h"
#include "support/test.h"

/*
 * Random kernel records that name their process in the header, by a thread there, in the payload,
 * in both, or not at all, and random expressions over it. The right result follows here from the
 * values that went into the record. A source, which has the record as it came, may decide that
 * result or nothing. The header of the completed record may, too, and its event has to.
 */
enum { ROUNDS = 300, RECORDS = 200, TEXT_BYTES = 2048, PAYLOAD_BYTES = 24 };
enum {
    UNKNOWN = -1,
    SAMPLE = 0x0f2e,
    SEND = 0x060a,
    WALK = 0x1820,
    THREAD_START = 0x0501,
    THREAD_LIST = 0x0503
};

static uint64_t state_of_chance = 88172645463325252u;

static uint32_t chance(uint32_t below)
{
    state_of_chance ^= state_of_chance << 13;
    state_of_chance ^= state_of_chance >> 7;
    state_of_chance ^= state_of_chance << 17;
    return (uint32_t)(state_of_chance >> 33) % below;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Processes of the threads 0 to 3, as the table has them. */
static const int threads[] = {0, 10, 20, 10};
enum { THREADS = sizeof(threads) / sizeof(threads[0]), IDS = 2 * THREADS };

struct made {
    struct event_record record;
    uint8_t payload[PAYLOAD_BYTES];
    int pid; /* expected; UNKNOWN: the record has no process */
    int tid;
};

static void set_payload(struct made *made, uint16_t hook_id, size_t size)
{
    made->record.hook_id = hook_id;
    made->record.provider = *kernel_group_class(hook_id);
    made->record.descriptor.opcode = (uint8_t)hook_id;
    made->record.payload = span_make(made->payload, size);
}

static void expect_thread(struct made *made, uint32_t tid)
{
    bool is_known = tid < THREADS;
    made->pid = is_known ? threads[tid] : UNKNOWN;
    made->tid = is_known ? (int)tid : UNKNOWN;
}

static void put_both(struct made *made, size_t at, uint16_t hook_id, size_t size)
{
    made->pid = (int)chance(3) * 10;
    made->tid = (int)chance(IDS);
    store_le32(made->payload + at, (uint32_t)made->pid);
    store_le32(made->payload + at + 4, (uint32_t)made->tid);
    set_payload(made, hook_id, size);
}

static void make_payload(struct made *made)
{
    uint32_t tid = chance(IDS);
    switch (chance(5)) {
    case 0:
        store_le32(made->payload + 8, tid);
        set_payload(made, SAMPLE, 16);
        expect_thread(made, tid);
        break;
    case 1:
        made->pid = chance(4) ? (int)chance(3) * 10 : UNKNOWN;
        store_le32(made->payload, (uint32_t)made->pid);
        set_payload(made, SEND, 20);
        break;
    case 2:
        put_both(made, 8, WALK, 16);
        break;
    case 3:
        put_both(made, 0, THREAD_START, 8);
        break;
    default:
        set_payload(made, 0x0424, 8); /* FileRundown, which is of no process */
        break;
    }
}

/* A record with a list of threads: the process of the header does not count, unless it is the
 * same. */
static void make_listed(struct made *made)
{
    put_both(made, 0, THREAD_LIST, 8);
    made->record.present |= RECORD_HAS_PROCESS | RECORD_HAS_THREAD;
    made->record.process_id = (uint32_t)chance(3) * 10;
    made->record.thread_id = chance(IDS);
    if (made->record.process_id == (uint32_t)made->pid) {
        made->tid = (int)made->record.thread_id;
    }
}

static void make_record(struct made *made)
{
    *made = (struct made){.pid = UNKNOWN, .tid = UNKNOWN};
    made->record = (struct event_record){.kind = RECORD_KERNEL,
        .pointer_size = 8,
        .present = RECORD_HAS_TIME,
        .time = 1000,
        .descriptor = {.version = 2}};
    if (chance(6) == 0) {
        make_listed(made);
        return;
    }
    make_payload(made);
    if (chance(3) == 0) {
        uint32_t tid = chance(IDS);
        bool has_process = chance(2);
        expect_thread(made, tid);
        made->tid = (int)tid;
        made->record.thread_id = tid;
        made->record.present |= RECORD_HAS_THREAD;
        if (has_process) {
            made->pid = (int)chance(3) * 10;
            made->record.process_id = (uint32_t)made->pid;
            made->record.present |= RECORD_HAS_PROCESS;
        }
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

enum test { PID_IS, PID_BELOW, THREAD_IS, HAS_PID, HAS_THREAD, HAS_PROCESS, TYPE_IS, TESTS };

/* In prefix order: `not`, `and`, `or`, or a test. */
struct node {
    char kind; /* ! & | or 0 */
    enum test test;
    int number;
};

struct expression {
    struct node nodes[64];
    size_t count;
    char text[TEXT_BYTES];
    size_t size;
};

static void say(struct expression *e, const char *format, int number)
{
    e->size += (size_t)snprintf(e->text + e->size, TEXT_BYTES - e->size, format, number);
    assert_true(e->size < TEXT_BYTES);
}

static void make_test(struct expression *e, struct node *node)
{
    static const char *const texts[TESTS] = {"process.pid == %d", "process.pid < %d",
        "process.thread.id == %d", "exists(process.pid)", "exists(process.thread)",
        "exists(process)", "event.opcode == %d"};
    static const int types[] = {
        SAMPLE & 0xff, SEND & 0xff, WALK & 0xff, THREAD_START & 0xff, THREAD_LIST & 0xff};
    node->test = (enum test)chance(TESTS);
    node->number = node->test == THREAD_IS ? (int)chance(IDS)
                   : node->test == TYPE_IS ? types[chance(5)]
                                           : (int)chance(4) * 10;
    bool has_number = strchr(texts[node->test], '%') != NULL;
    say(e, has_number ? texts[node->test] : "", node->number);
    say(e, has_number ? "" : texts[node->test], 0);
}

static void make_expression(struct expression *e, unsigned depth)
{
    struct node *node = &e->nodes[e->count++];
    *node = (struct node){.kind = depth ? "!&|"[chance(3)] : 0};
    if (depth && chance(4)) {
        say(e, node->kind == '!' ? "not (" : "(", 0);
        make_expression(e, depth - 1);
        if (node->kind != '!') {
            say(e, node->kind == '&' ? ") and (" : ") or (", 0);
            make_expression(e, depth - 1);
        }
        say(e, ")", 0);
    } else {
        node->kind = 0;
        make_test(e, node);
    }
}

static bool is_true(const struct node **at, const struct made *made)
{
    const struct node *node = (*at)++;
    if (node->kind == '!') {
        return !is_true(at, made);
    }
    if (node->kind) {
        bool first = is_true(at, made);
        bool second = is_true(at, made);
        return node->kind == '&' ? first && second : first || second;
    }
    switch (node->test) {
    case PID_IS:
        return made->pid == node->number;
    case PID_BELOW:
        return made->pid != UNKNOWN && made->pid < node->number;
    case THREAD_IS:
        return made->tid == node->number;
    case HAS_PID:
        return made->pid != UNKNOWN;
    case HAS_THREAD:
        return made->tid != UNKNOWN;
    case HAS_PROCESS:
        return made->pid != UNKNOWN || made->tid != UNKNOWN;
    default:
        return made->record.descriptor.opcode == node->number;
    }
}

/* ---- stages ---------------------------------------------------------------------------------- */

struct rig {
    struct process_table *table;
    struct process_reader *reader;
    struct filter_scratch scratch;
    size_t dropped;   /* by sources */
    size_t decided;   /* by headers */
    size_t completed; /* records */
};

static void rig_init(struct rig *rig)
{
    const struct process_table_settings settings = {.max_bytes = 0};
    *rig = (struct rig){.table = process_table_create(&settings, NULL)};
    assert_non_null(rig->table);
    rig->reader = process_reader_create(rig->table, NULL);
    assert_non_null(rig->reader);
    assert_true(filter_scratch_init(&rig->scratch, NULL, NULL));
    for (uint32_t tid = 0; tid < THREADS; tid++) {
        const struct thread_news news = {
            .what = LIFE_ALIVE, .tid = tid, .pid = (uint32_t)threads[tid], .time = 500};
        process_table_add_thread(rig->table, &news);
    }
}

static void rig_fini(struct rig *rig)
{
    filter_scratch_fini(&rig->scratch);
    process_reader_destroy(rig->reader);
    process_table_destroy(rig->table);
}

static void check_record(struct rig *rig, const struct filter *filter, struct source_gates *source,
    const struct expression *e, const struct made *made)
{
    const struct node *at = e->nodes;
    enum filter_verdict expected = is_true(&at, made) ? FILTER_DROP : FILTER_KEEP;
    struct event_record room;
    uint64_t tag;
    size_t rule;
    const struct event event = {
        .record = process_reader_complete(rig->reader, &made->record, &room)};
    enum filter_verdict header = filter_header(filter, &rig->scratch, event.record, &rule);
    enum filter_verdict whole = filter_event(filter, &rig->scratch, &event, &rule);
    bool is_dropped = source &&
                      source_gates_ask(source, &made->record, 10, &tag) == SOURCE_GATES_SESSION;
    if (whole != expected || (header != FILTER_UNDECIDED && header != expected) ||
        (is_dropped && expected != FILTER_DROP)) {
        fail_msg("%s: hook %#x, process %d, thread %d: expected %d, header %d, event %d, source %d",
            e->text, made->record.hook_id, made->pid, made->tid, expected, header, whole,
            is_dropped);
    }
    rig->dropped += is_dropped;
    rig->decided += header != FILTER_UNDECIDED;
    rig->completed += event.record == &room;
}

static void a_verdict_is_the_same_at_every_stage(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct expression e = {.count = 0};
        struct filter_place place;
        make_expression(&e, 4);
        const struct filter_rule rule = {.action = FILTER_ACTION_DROP, .text = span_text(e.text)};
        struct filter *filter = filter_create(&rule, 1, &place, NULL);
        assert_non_null(filter);
        const struct gate gate = {.filter = filter};
        const struct worker_session session = {
            .name = "s", .rules = {.gates = &gate, .gate_count = 1}};
        const struct source_gates_settings settings = {.session = &session};
        struct source_gates *source;
        assert_true(source_gates_create(&settings, &source, NULL));
        for (size_t i = 0; i < RECORDS; i++) {
            struct made made;
            make_record(&made);
            made.record.payload.data = made.payload;
            check_record(&rig, filter, source, &e, &made);
        }
        source_gates_destroy(source);
        filter_destroy(filter);
    }
    assert_true(rig.dropped > 1000);
    assert_true(rig.decided > 1000);
    assert_true(rig.completed > 1000);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_is_the_same_at_every_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "process/process_table.h"

#include <stdio.h>

#include "platform/plat_thread.h"
#include "process/process_reader.h"
#include "support/test.h"

/* Times are seconds of FILETIME. */
static const uint64_t second = 10000000;

struct rig {
    struct process_table *table;
    struct process_reader *reader;
    struct trace_info trace;
};

static void rig_init(struct rig *rig, size_t max_bytes)
{
    const struct process_table_settings settings = {.max_bytes = max_bytes};
    *rig = (struct rig){.table = process_table_create(&settings, NULL)};
    assert_non_null(rig->table);
    rig->reader = process_reader_create(rig->table, NULL);
    assert_non_null(rig->reader);
}

static void rig_fini(struct rig *rig)
{
    process_reader_destroy(rig->reader);
    process_table_destroy(rig->table);
}

static void hear(
    struct rig *rig, enum life_news what, uint32_t pid, uint64_t seconds, const char *name)
{
    const struct process_news news = {.what = what,
        .source = PROCESS_FROM_KERNEL,
        .pid = pid,
        .time = seconds * second,
        .has_parent = true,
        .parent_pid = 4,
        .name = span_text(name)};
    process_table_add(rig->table, &news);
}

static const struct event_process *find(struct rig *rig, uint32_t pid, uint64_t seconds)
{
    const struct event_record record = {.present = RECORD_HAS_PROCESS,
        .process_id = pid,
        .time = seconds * second,
        .trace = &rig->trace};
    return process_reader_find(rig->reader, &record);
}

static void an_id_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    assert_null(find(&rig, 100, 15));
    hear(&rig, LIFE_STARTED, 100, 10, "cmd.exe");
    hear(&rig, LIFE_ENDED, 100, 20, "cmd.exe");
    hear(&rig, LIFE_STARTED, 100, 30, "git.exe");
    assert_span(find(&rig, 100, 15)->name, "cmd.exe");
    assert_span(find(&rig, 100, 31)->name, "git.exe");
    assert_span(find(&rig, 100, 20)->name, "cmd.exe");
    assert_null(find(&rig, 100, 25));
    assert_null(find(&rig, 101, 15));
    assert_int_equal(find(&rig, 100, 31)->start, 30 * second);
    rig_fini(&rig);
}

static void a_process_is_one_thing_until_something_is_heard_of_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    hear(&rig, LIFE_STARTED, 100, 10, "cmd.exe");
    const struct event_process *process = find(&rig, 100, 15);
    uint64_t serial = process->serial;
    assert_int_not_equal(serial, 0);
    assert_int_equal(process->executable.size, 0);
    assert_int_equal(find(&rig, 100, 16)->serial, serial);
    const struct process_news image = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_KERNEL,
        .pid = 100,
        .time = 10 * second + 5,
        .image = span_text("\\Device\\HarddiskVolume2\\Windows\\System32\\CMD.exe")};
    process_table_add(rig.table, &image);
    process = find(&rig, 100, 16);
    assert_int_not_equal(process->serial, serial);
    assert_span(process->executable, "\\Device\\HarddiskVolume2\\Windows\\System32\\CMD.exe");
    serial = process->serial;
    process_table_add_volume(
        rig.table, 0, span_text("\\device\\harddiskvolume2\\"), span_text("D:\\"));
    process_table_add_volume(rig.table, 0, span_text("\\Device\\HarddiskVolume"), span_text("E:"));
    assert_span(find(&rig, 100, 16)->executable, "D:\\Windows\\System32\\CMD.exe");
    assert_int_not_equal(find(&rig, 100, 16)->serial, serial);
    rig_fini(&rig);
}

static void processes_of_two_tables_are_not_the_same(void **state)
{
    (void)state;
    struct rig one;
    struct rig other;
    rig_init(&one, 0);
    rig_init(&other, 0);
    hear(&one, LIFE_STARTED, 100, 10, "cmd.exe");
    hear(&other, LIFE_STARTED, 100, 10, "git.exe");
    assert_int_not_equal(find(&one, 100, 15)->serial, find(&other, 100, 15)->serial);
    rig_fini(&one);
    rig_fini(&other);
}

static void the_image_of_another_program_is_not_its_own(void **state)
{
    (void)state;
    struct rig rig;
    struct process_news image = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_KERNEL,
        .pid = 100,
        .time = 11 * second,
        .image = span_text("\\Device\\X\\helper.exe")};
    rig_init(&rig, 0);
    hear(&rig, LIFE_STARTED, 100, 10, "longnamedprogr"); /* cut after 14 bytes */
    process_table_add(rig.table, &image);
    assert_int_equal(find(&rig, 100, 15)->executable.size, 0);
    assert_span(find(&rig, 100, 15)->name, "longnamedprogr");
    image.image = span_text("\\Device\\X\\LongNamedProgram.exe");
    process_table_add(rig.table, &image);
    assert_span(find(&rig, 100, 15)->executable, "\\Device\\X\\LongNamedProgram.exe");
    assert_span(find(&rig, 100, 15)->name, "LongNamedProgram.exe");
    rig_fini(&rig);
}

static void a_name_that_a_code_page_has_not_is_the_same_name(void **state)
{
    (void)state;
    static const char *const ansi[] = {"????.exe", "\xc3\xb2\xc3\xa5\xc3\xb1\xc3\xb2.exe"};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        const struct process_news start = {.what = LIFE_STARTED,
            .source = PROCESS_FROM_PROVIDER,
            .pid = 100,
            .time = 10 * second,
            .has_parent = true,
            .parent_pid = 4,
            .path = span_text("\\Device\\X\\\xd1\x82\xd0\xb5\xd1\x81\xd1\x82.exe")};
        rig_init(&rig, 0);
        process_table_add(rig.table, &start);
        hear(&rig, LIFE_STARTED, 100, 10, ansi[i]);
        hear(&rig, LIFE_ENDED, 100, 20, ansi[i]);
        assert_int_equal(process_table_counts(rig.table).processes, 1);
        assert_span(find(&rig, 100, 15)->name, "\xd1\x82\xd0\xb5\xd1\x81\xd1\x82.exe");
        assert_span(
            find(&rig, 100, 15)->executable, "\\Device\\X\\\xd1\x82\xd0\xb5\xd1\x81\xd1\x82.exe");
        assert_null(find(&rig, 100, 25));
        hear(&rig, LIFE_ALIVE, 100, 15, "cmd.exe");
        assert_int_equal(process_table_counts(rig.table).processes, 3);
        rig_fini(&rig);
    }
}

static void paths_are_shown_as_programs_open_them(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *executable;
    } paths[] = {
        {"\\??\\D:\\a.exe", "D:\\a.exe"},
        {"\\??\\UNC\\host\\share\\a.exe", "\\\\host\\share\\a.exe"},
        {"\\Device\\Mup\\host\\share\\a.exe", "\\\\host\\share\\a.exe"},
        {"\\Device\\Mup\\;LanmanRedirector\\;Z:0\\host\\share\\a.exe", "\\\\host\\share\\a.exe"},
        {"\\Device\\Mup\\DfsClient\\;Z:0000000000020d40\\host\\share\\a.exe",
            "\\\\host\\share\\a.exe"},
        {"\\Device\\Mup\\;Csc\\.\\v2.0.6\\a.exe", "\\Device\\Mup\\;Csc\\.\\v2.0.6\\a.exe"},
        {"\\Device\\Mup\\;Z:0\\a.exe", "\\Device\\Mup\\;Z:0\\a.exe"},
        {"\\Device\\Mup\\host\\;share\\a.exe", "\\\\host\\;share\\a.exe"},
        {"\\??\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\a.exe",
            "\\??\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\a.exe"},
        {"\\Device\\HarddiskVolume9\\a.exe", "\\Device\\HarddiskVolume9\\a.exe"},
    };
    struct rig rig;
    rig_init(&rig, 0);
    for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const struct process_news news = {.what = LIFE_STARTED,
            .source = PROCESS_FROM_PROVIDER,
            .pid = 100 + i,
            .time = 10 * second,
            .path = span_text(paths[i].path)};
        process_table_add(rig.table, &news);
        assert_span(find(&rig, 100 + i, 11)->executable, paths[i].executable);
        assert_span(find(&rig, 100 + i, 11)->name, "a.exe");
    }
    rig_fini(&rig);
}

static void hear_list(
    struct rig *rig, size_t list, uint32_t pid, uint32_t parent, uint64_t seconds, const char *name)
{
    struct process_news news = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_KERNEL,
        .pid = pid,
        .time = seconds * second,
        .has_parent = true,
        .parent_pid = parent,
        .name = span_text(name)};
    news.listed[list] = news.time;
    process_table_add(rig->table, &news);
}

/* Like on a Windows whose session manager had the pid of a later process. */
static void a_parent_is_not_the_process_after_the_child_in_a_list_of_all(void **state)
{
    (void)state;
    for (size_t list = 0; list < PROCESS_LISTS; list++) {
        struct rig rig;
        rig_init(&rig, 0);
        hear_list(&rig, list, 472, 460, 10, "csrss.exe");
        assert_int_equal(find(&rig, 472, 20)->parent_pid, 460);
        hear_list(&rig, list, 460, 616, 12, "svchost.exe");
        hear_list(&rig, list, 700, 460, 13, "child.exe");
        assert_int_equal(find(&rig, 472, 20)->parent_name.size, 0);
        assert_span(find(&rig, 700, 20)->parent_name, "svchost.exe");
        /* The second list has the facts that the first one lacks. */
        hear_list(&rig, 1 - list, 472, 460, 31, "csrss.exe");
        hear_list(&rig, 1 - list, 700, 460, 32, "child.exe");
        assert_int_equal(find(&rig, 472, 20)->parent_name.size, 0);
        hear_list(&rig, 1 - list, 460, 616, 33, "svchost.exe");
        assert_int_equal(find(&rig, 700, 20)->parent_name.size, 0);
        rig_fini(&rig);
    }
}

static void others_are_told_beside_the_process_of_an_event(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    const struct event_processes *others = process_reader_others(rig.reader);
    const struct event_record record = {
        .present = RECORD_HAS_PROCESS, .process_id = 100, .time = 15 * second, .trace = &rig.trace};
    assert_null(process_reader_others(NULL));
    assert_null(others->find(others->self, &record, 200));
    hear(&rig, LIFE_STARTED, 100, 10, "own.exe");
    const struct event_process *own = process_reader_find(rig.reader, &record);
    for (uint32_t pid = 200; pid < 1200; pid += 4) { /* more than are remembered */
        char name[16];
        snprintf(name, sizeof(name), "%u.exe", pid);
        hear(&rig, LIFE_STARTED, pid, 12, name);
        assert_span(others->find(others->self, &record, pid)->name, name);
        assert_span(own->name, "own.exe");
    }
    hear(&rig, LIFE_ENDED, 200, 13, "200.exe");
    assert_null(others->find(others->self, &record, 200));
    rig_fini(&rig);
}

static void a_parent_is_the_process_that_had_the_id_when_the_child_began(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    hear(&rig, LIFE_STARTED, 100, 20, "child.exe");
    assert_true(find(&rig, 100, 21)->has_parent);
    assert_int_equal(find(&rig, 100, 21)->parent_pid, 4);
    assert_int_equal(find(&rig, 100, 21)->parent_name.size, 0);
    hear(&rig, LIFE_STARTED, 4, 30, "later.exe"); /* has the id now, but did not have it then */
    assert_int_equal(find(&rig, 100, 31)->parent_name.size, 0);
    hear(&rig, LIFE_ENDED, 4, 25, "parent.exe");
    assert_span(find(&rig, 100, 31)->parent_name, "parent.exe");
    rig_fini(&rig);
}

static void traces_of_two_boots_do_not_mix(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    struct process_news news = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_KERNEL,
        .machine = 1,
        .pid = 100,
        .time = 10 * second,
        .name = span_text("one.exe")};
    process_table_add(rig.table, &news);
    rig.trace.boot_time = 2;
    assert_null(find(&rig, 100, 10));
    rig.trace.boot_time = 1;
    assert_span(find(&rig, 100, 10)->name, "one.exe");
    rig_fini(&rig);
}

static void put_key(uint8_t bytes[8], uint64_t key)
{
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(key >> (8 * i));
    }
}

static void a_start_key_counts_for_more_than_the_time(void **state)
{
    (void)state;
    static const uint64_t boot = UINT64_C(3) << 48;
    uint8_t bytes[8] = {0};
    struct extended_item item = {
        .type = EXTENDED_PROCESS_START_KEY, .data = span_make(bytes, sizeof(bytes))};
    struct event_record record = {.present = RECORD_HAS_PROCESS,
        .process_id = 100,
        .time = 35 * second,
        .extended = &item,
        .extended_count = 1};
    struct rig rig;
    rig_init(&rig, 0);
    struct process_news news = {.what = LIFE_STARTED,
        .source = PROCESS_FROM_PROVIDER,
        .pid = 100,
        .time = 10 * second,
        .start_key = 70,
        .name = span_text("one.exe")};
    process_table_add(rig.table, &news);
    news.time = 30 * second;
    news.start_key = 71;
    news.name = span_text("two.exe");
    process_table_add(rig.table, &news);
    put_key(bytes, boot | 71);
    assert_span(process_reader_find(rig.reader, &record)->name, "two.exe");
    put_key(bytes, boot | 70);
    assert_span(process_reader_find(rig.reader, &record)->name, "one.exe");
    put_key(bytes, boot | 72);
    assert_null(process_reader_find(rig.reader, &record));
    process_table_set_boot_id(rig.table, 3);
    put_key(bytes, boot | 70);
    assert_true(process_reader_find(rig.reader, &record)->start_key == (boot | 70));
    rig_fini(&rig);
}

static void a_record_without_a_process_has_that_of_its_thread(void **state)
{
    (void)state;
    struct rig rig;
    struct event_record room;
    struct event_record record = {.present = RECORD_HAS_THREAD,
        .thread_id = 7,
        .process_id = UINT32_MAX,
        .time = 15 * second};
    struct thread_news news = {.what = LIFE_STARTED, .tid = 7, .pid = 100, .time = 10 * second};
    rig_init(&rig, 0);
    assert_ptr_equal(process_reader_complete(rig.reader, &record, &room), &record);
    process_table_add_thread(rig.table, &news);
    news.what = LIFE_ENDED;
    news.time = 20 * second;
    process_table_add_thread(rig.table, &news);
    news.what = LIFE_STARTED;
    news.time = 30 * second;
    news.pid = 200;
    process_table_add_thread(rig.table, &news);
    assert_ptr_equal(process_reader_complete(rig.reader, &record, &room), &room);
    assert_int_equal(room.process_id, 100);
    assert_true(room.present & RECORD_HAS_PROCESS);
    record.time = 30 * second;
    assert_int_equal(process_reader_complete(rig.reader, &record, &room)->process_id, 200);
    record.time = 25 * second;
    assert_ptr_equal(process_reader_complete(rig.reader, &record, &room), &record);
    rig_fini(&rig);
}

static void users_have_names_and_levels(void **state)
{
    (void)state;
    static const uint8_t local_system[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    struct rig rig;
    rig_init(&rig, 0);
    const struct process_news news = {.what = LIFE_ALIVE,
        .source = PROCESS_FROM_SNAPSHOT,
        .pid = 100,
        .time = 11 * second,
        .created = 10 * second,
        .has_integrity = true,
        .integrity = 0x3000,
        .has_session = true,
        .user = span_make(local_system, sizeof(local_system)),
        .path = span_text("\\Device\\X\\svc.exe")};
    process_table_add(rig.table, &news);
    const struct event_process *process = find(&rig, 100, 10);
    assert_span(process->name, "svc.exe");
    assert_span(process->user_id, "S-1-5-18");
    assert_span(process->user_name, "SYSTEM");
    assert_span(process->user_domain, "NT AUTHORITY");
    assert_string_equal(process->integrity, "high");
    assert_int_equal(process->start, 10 * second);
    assert_true(process->has_session);
    assert_null(find(&rig, 100, 9));
    rig_fini(&rig);
}

static void a_reader_of_many_processes_knows_each(void **state)
{
    (void)state;
    enum { PROCESSES = 3000, ROUNDS = 8 };
    struct rig rig;
    rig_init(&rig, 16 * 1024 * 1024);
    struct trace_info other = {.boot_time = 1};
    for (uint32_t i = 1; i <= PROCESSES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p%u.exe", i);
        hear(&rig, LIFE_STARTED, 4 * i, 10, name);
    }
    for (uint32_t n = 0; n < ROUNDS * PROCESSES; n++) {
        char name[32];
        uint32_t i = 1 + n % PROCESSES;
        snprintf(name, sizeof(name), "p%u.exe", i);
        const struct event_record soon = {.process_id = 4 * i + 8};
        const struct event_record next = {.process_id = 4 * i};
        process_reader_expect(rig.reader, &soon);
        uint32_t place = process_reader_expect_next(rig.reader, &next);
        const struct event_process *process = find(&rig, 4 * i, 11);
        assert_non_null(process);
        assert_int_equal(place, process->place);
        assert_int_equal(place, process_reader_expect(rig.reader, &next));
        assert_span(process->name, name);
        assert_int_equal(process->pid, 4 * i);
        const struct event_record elsewhere = {.present = RECORD_HAS_PROCESS,
            .process_id = 4 * i,
            .time = 11 * second,
            .trace = &other};
        assert_null(process_reader_find(rig.reader, &elsewhere));
    }
    rig_fini(&rig);
}

static void more_than_fit_cost_those_that_ended_first(void **state)
{
    (void)state;
    enum { PROCESSES = 5000, MAX_BYTES = 256 * 1024 };
    struct rig rig;
    rig_init(&rig, MAX_BYTES);
    for (uint32_t i = 1; i <= PROCESSES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p%u.exe", i);
        hear(&rig, LIFE_STARTED, i, 10 * i, name);
        assert_span(find(&rig, i, 10 * i)->name, name);
        if (i > 1) {
            hear(&rig, LIFE_ENDED, i, 10 * i + 5, name);
        }
    }
    struct process_table_counts counts = process_table_counts(rig.table);
    assert_true(counts.bytes <= MAX_BYTES);
    assert_true(counts.processes > 100);
    assert_int_equal(counts.processes + counts.evicted, PROCESSES);
    assert_span(find(&rig, 1, 100000)->name, "p1.exe"); /* is still known */
    assert_null(find(&rig, 2, 22));
    assert_span(find(&rig, PROCESSES, 10 * PROCESSES + 1)->name, "p5000.exe");
    rig_fini(&rig);
}

static void a_reader_keeps_the_answer_for_a_life_that_is_forgotten(void **state)
{
    (void)state;
    enum { LIVES = 1500, MAX_BYTES = 256 * 1024 };
    struct rig rig;
    rig_init(&rig, MAX_BYTES);
    hear(&rig, LIFE_STARTED, 8, 10, "first.exe");
    hear(&rig, LIFE_ENDED, 8, 20, "first.exe");
    assert_span(find(&rig, 8, 15)->name, "first.exe");
    for (uint32_t i = 1; i <= LIVES; i++) {
        hear(&rig, LIFE_STARTED, 12, 100 * i, "other.exe");
        hear(&rig, LIFE_ENDED, 12, 100 * i + 50, "other.exe");
    }
    assert_span(find(&rig, 8, 15)->name, "first.exe");
    process_reader_destroy(rig.reader);
    rig.reader = process_reader_create(rig.table, NULL);
    assert_non_null(rig.reader);
    assert_null(find(&rig, 8, 15));
    rig_fini(&rig);
}

static void more_threads_than_fit_are_forgotten(void **state)
{
    (void)state;
    enum { THREADS = 20000, MAX_BYTES = 256 * 1024 };
    struct rig rig;
    rig_init(&rig, MAX_BYTES);
    for (uint32_t i = 1; i <= THREADS; i++) {
        const struct thread_news news = {
            .what = LIFE_STARTED, .tid = i, .pid = i, .time = i * second};
        process_table_add_thread(rig.table, &news);
    }
    assert_true(process_table_counts(rig.table).bytes <= MAX_BYTES);
    assert_true(process_table_counts(rig.table).threads > 100);
    rig_fini(&rig);
}

/* ---- readers beside a writer ----------------------------------------------------------------- */

/*
 * One writer moves on in time: process n has the id n % IDS from second 10 n to 10 n + 9, and its
 * name contains n. Readers ask for past times, so every answer has to be the process of that time.
 */
enum { IDS = 8, LIVES = 4000, READERS = 3, PER_READER = 40000 };

struct crowd {
    struct rig *rig;
    atomic_uint written; /* lives */
    atomic_uint wrong;
    atomic_uint told;
};

static void name_of(uint32_t n, char name[32])
{
    snprintf(name, 32, "p%u.exe", n);
}

static void write_lives(void *self)
{
    struct crowd *crowd = self;
    for (uint32_t n = 1; n <= LIVES; n++) {
        char name[32];
        name_of(n, name);
        hear(crowd->rig, LIFE_STARTED, n % IDS, 10 * n, name);
        hear(crowd->rig, LIFE_ENDED, n % IDS, 10 * n + 9, name);
        atomic_store(&crowd->written, n);
    }
}

static void read_lives(void *self)
{
    struct crowd *crowd = self;
    struct process_reader *reader = process_reader_create(crowd->rig->table, NULL);
    uint32_t seed = (uint32_t)(uintptr_t)&reader | 1;
    for (size_t i = 0; reader && i < PER_READER; i++) {
        uint32_t last = atomic_load(&crowd->written);
        seed = seed * 1664525 + 1013904223;
        uint32_t n = last ? last - (seed >> 8) % (last < 20 ? last : 20) : 0;
        const struct event_record record = {.present = RECORD_HAS_PROCESS,
            .process_id = n % IDS,
            .time = (10 * (uint64_t)n + 4) * second};
        const struct event_process *process = n ? process_reader_find(reader, &record) : NULL;
        char name[32];
        name_of(n, name);
        if (n) {
            atomic_fetch_add(&crowd->told, 1);
            atomic_fetch_add(&crowd->wrong, !process || !span_is(process->name, name));
        }
    }
    process_reader_destroy(reader);
}

static void readers_are_told_the_truth_beside_a_writer(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    struct crowd crowd = {.rig = &rig};
    struct plat_thread *threads[READERS + 1];
    threads[0] = plat_thread_start("writer", write_lives, &crowd, NULL);
    for (size_t i = 1; i <= READERS; i++) {
        threads[i] = plat_thread_start("reader", read_lives, &crowd, NULL);
    }
    for (size_t i = 0; i <= READERS; i++) {
        plat_thread_join(threads[i]);
    }
    read_lives(&crowd); /* and after it, so that there are answers */
    assert_int_equal(crowd.wrong, 0);
    assert_true(crowd.told >= PER_READER);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_that_is_used_again_is_another_process),
        cmocka_unit_test(a_process_is_one_thing_until_something_is_heard_of_it),
        cmocka_unit_test(processes_of_two_tables_are_not_the_same),
        cmocka_unit_test(the_image_of_another_program_is_not_its_own),
        cmocka_unit_test(a_name_that_a_code_page_has_not_is_the_same_name),
        cmocka_unit_test(paths_are_shown_as_programs_open_them),
        cmocka_unit_test(a_parent_is_not_the_process_after_the_child_in_a_list_of_all),
        cmocka_unit_test(others_are_told_beside_the_process_of_an_event),
        cmocka_unit_test(a_parent_is_the_process_that_had_the_id_when_the_child_began),
        cmocka_unit_test(traces_of_two_boots_do_not_mix),
        cmocka_unit_test(a_start_key_counts_for_more_than_the_time),
        cmocka_unit_test(a_record_without_a_process_has_that_of_its_thread),
        cmocka_unit_test(users_have_names_and_levels),
        cmocka_unit_test(a_reader_of_many_processes_knows_each),
        cmocka_unit_test(more_than_fit_cost_those_that_ended_first),
        cmocka_unit_test(a_reader_keeps_the_answer_for_a_life_that_is_forgotten),
        cmocka_unit_test(more_threads_than_fit_are_forgotten),
        cmocka_unit_test(readers_are_told_the_truth_beside_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

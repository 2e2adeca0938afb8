#define _GNU_SOURCE

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "config/config.h"
#include "config/config_check.h"
#include "config/config_report.h"
#include "outputs/outputs.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

/*
 * The file output is killed, or its disk fails, at every system call that changes the disk, one
 * after the other. A simple host stores the output's checkpoint with its position in memory that
 * outlives the process, and delivers again from there. In the end every event stands in the files
 * once, in order, on a line of its own.
 */
enum {
    EVENTS = 36,
    BATCH = 7,
    EVENT_BYTES = 25,
    ROUTES = 3,
    CHECKPOINT_MAX = 4096,
    MAX_STEPS = 2000
};

/* Processes under a sanitizer are slow to fork. */
#if defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 7 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif
#else
enum { STRIDE = 1 };
#endif

/* ---- faults ---------------------------------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_KILL_BEFORE, FAULT_KILL_AFTER, FAULT_KILL_HALF, FAULT_ERROR };

static struct {
    enum fault kind;
    int at;    /* the step that fails, from 1 */
    int count; /* for FAULT_ERROR: this many steps fail */
    int error;
    int step; /* so far; -1: not counting */
} faults = {.step = -1};

/* Every call below comes here first. True: the call fails with errno. */
static bool step_fails(void)
{
    if (faults.step < 0) {
        return false;
    }
    faults.step++;
    bool hit = faults.step >= faults.at && faults.step < faults.at + faults.count;
    if (hit && faults.kind == FAULT_KILL_BEFORE) {
        _exit(9);
    }
    errno = faults.error;
    return hit && faults.kind == FAULT_ERROR;
}

/* Every call below comes here with its result. */
static int step_done(long result)
{
    bool hit = faults.step >= 0 && faults.step == faults.at;
    if (hit && (faults.kind == FAULT_KILL_AFTER || faults.kind == FAULT_KILL_HALF)) {
        _exit(9);
    }
    return (int)result;
}

/* They replace the functions of the C library in this program. */
ssize_t write(int fd, const void *data, size_t size);
int open64(const char *path, int flags, ...);
int ftruncate64(int fd, off_t size);
int rename(const char *from, const char *to);
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int unlink(const char *path);
int fdatasync(int fd);
int fsync(int fd);
int mkdir(const char *path, mode_t mode);

ssize_t write(int fd, const void *data, size_t size)
{
    if (step_fails()) {
        return -1;
    }
    bool half = faults.step >= 0 && faults.step == faults.at && faults.kind == FAULT_KILL_HALF;
    return step_done(syscall(SYS_write, fd, data, half ? size / 2 : size));
}

int open64(const char *path, int flags, ...)
{
    bool makes = (flags & O_CREAT) != 0;
    if (makes && step_fails()) {
        return -1;
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
    return makes ? step_done(fd) : fd;
}

int ftruncate64(int fd, off_t size)
{
    return step_fails() ? -1 : step_done(syscall(SYS_ftruncate, fd, size));
}

int rename(const char *from, const char *to)
{
    return step_fails() ? -1 : step_done(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    return step_fails()
               ? -1
               : step_done(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink(const char *path)
{
    return step_fails() ? -1 : step_done(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

/* No test here tells a disk from the system's memory: a kill leaves both. */
int fdatasync(int fd)
{
    (void)fd;
    return step_fails() ? -1 : step_done(0);
}

int fsync(int fd)
{
    return fdatasync(fd);
}

int mkdir(const char *path, mode_t mode)
{
    return step_fails() ? -1 : step_done(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

/* ---- the host -------------------------------------------------------------------------------- */

/* The state that outlives a killed process. */
struct durable {
    size_t position; /* events delivered, with this checkpoint */
    size_t checkpoint_size;
    uint8_t checkpoint[CHECKPOINT_MAX];
};

static struct durable *durable;
static char folder[TEMP_FOLDER_BYTES];

struct host {
    void *output;
    size_t delivered;
};

static bool store(void *self, struct error *err)
{
    struct host *host = self;
    struct buf out;
    buf_init(&out, CHECKPOINT_MAX);
    bool good = output_file.checkpoint(host->output, &out, err);
    if (good) {
        struct durable next = {.position = host->delivered, .checkpoint_size = out.size};
        memcpy(next.checkpoint, out.data, out.size);
        *durable = next;
    }
    buf_fini(&out);
    return good;
}

/* A setting under test: routes are names that the path template could have given. */
struct subject {
    const char *yaml; /* %s: the folder */
    const char *routes[ROUTES];
    const char *what;
};

static void *make(const struct subject *subject, struct config **ret_config, struct host *host)
{
    char yaml[512];
    struct config_report report;
    struct error err = {0};
    config_report_init(&report);
    snprintf(yaml, sizeof(yaml), subject->yaml, folder);
    *ret_config = config_create(NULL, NULL);
    const void *settings = config_parse(*ret_config, span_text(yaml), "t.yaml", output_file.fields,
        output_file.settings_size, &report);
    const struct output_env env = {.name = "test",
        .checkpoint = span_make(durable->checkpoint, durable->checkpoint_size),
        .save = store,
        .host = host};
    void *self = config_report_ok(&report) && config_check_first(output_file.check, settings, &err)
                     ? output_file.create(settings, &env, &err)
                     : NULL;
    config_report_fini(&report);
    return self;
}

/* Event ${i} is a line that says its number. The same event has the same route in every run. */
static size_t route_of(const struct subject *subject, size_t i)
{
    return subject->routes[0] ? i * i % ROUTES : 0;
}

static bool send_batch(const struct subject *subject, struct host *host, size_t first)
{
    char bytes[BATCH * EVENT_BYTES];
    uint32_t ends[BATCH];
    uint32_t routes[BATCH];
    char names[ROUTES][TEMP_FOLDER_BYTES + 128];
    struct span route_names[ROUTES];
    size_t count = EVENTS - first < BATCH ? EVENTS - first : BATCH;
    for (size_t i = 0; i < count; i++) {
        char line[64];
        snprintf(line, sizeof(line), "{\"event\":\"%012zu\"}\n", first + i);
        memcpy(bytes + i * EVENT_BYTES, line, EVENT_BYTES);
        ends[i] = (uint32_t)((i + 1) * EVENT_BYTES);
        routes[i] = (uint32_t)route_of(subject, first + i);
    }
    for (size_t r = 0; r < ROUTES; r++) {
        snprintf(names[r], sizeof(names[r]), "%s/%s", folder,
            subject->routes[r] ? subject->routes[r] : "");
        route_names[r] = span_text(names[r]);
    }
    bool routed = subject->routes[0] != NULL;
    const struct delivery delivery = {.bytes = span_make(bytes, count * EVENT_BYTES),
        .record_ends = ends,
        .record_count = count,
        .routes = routed ? routes : NULL,
        .route_names = routed ? route_names : NULL,
        .route_count = routed ? ROUTES : 0};
    struct output_report report = {.records = NULL};
    if (output_file.send(host->output, &delivery, &report) != OUTPUT_DELIVERED) {
        return false;
    }
    host->delivered += count;
    return true;
}

/* Deliver what is left. Failures are tried again a few times more than faults are injected. */
static bool run(const struct subject *subject)
{
    struct host host = {.delivered = durable->position};
    struct config *config = NULL;
    struct error err;
    size_t batches = 0;
    int tries = 0;
    bool good = true;
    host.output = make(subject, &config, &host);
    good = host.output != NULL;
    while (good && !output_file.connect(host.output, &err)) {
        good = ++tries < 20;
    }
    while (good && host.delivered < EVENTS) {
        if (!send_batch(subject, &host, host.delivered)) {
            good = ++tries < 20;
            continue;
        }
        if (++batches % 3 == 0) {
            store(&host, &err);
        }
        if (batches % 4 == 0) {
            output_file.idle(host.output);
        }
    }
    while (good && !store(&host, &err)) {
        good = ++tries < 20;
    }
    output_file.destroy(host.output);
    config_destroy(config);
    return good;
}

/* ---- what is in the files -------------------------------------------------------------------- */

struct found {
    unsigned char count[EVENTS];
    size_t lines;
    size_t last; /* the previous event of this file, for the order; from 1 */
    size_t wrong;
    size_t left; /* temporary or uncompressed rotated files */
    bool gzip;
};

static struct found *finding;

static int read_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    char line[256];
    if (type != FTW_F || strstr(path, "/.etwship-")) { /* the output's own list of its files */
        return 0;
    }
    gzFile file = gzopen(path, "rb"); /* it reads plain files, too */
    finding->last = 0;
    while (file && gzgets(file, line, sizeof(line))) {
        char *number = strstr(line, "000");
        size_t event = number ? strtoul(number, NULL, 10) : EVENTS;
        bool whole = strlen(line) == EVENT_BYTES && strncmp(line, "{\"event\":\"", 10) == 0;
        finding->lines++;
        if (!whole || event >= EVENTS || event + 1 <= finding->last) {
            finding->wrong++;
            continue;
        }
        finding->count[event]++;
        finding->last = event + 1;
    }
    gzclose(file);
    const char *dot = strrchr(path, '.');
    bool rotated = dot && dot[1] >= '1' && dot[1] <= '9';
    finding->left += strcmp(dot, ".tmp") == 0 || (finding->gzip && rotated);
    return 0;
}

static void check(const struct subject *subject, const char *fault, int step, int again)
{
    static struct found found;
    memset(&found, 0, sizeof(found));
    found.gzip = strstr(subject->yaml, "gzip: true") != NULL;
    finding = &found;
    nftw(folder, read_one, 8, FTW_PHYS);
    for (size_t i = 0; i < EVENTS; i++) {
        if (found.count[i] != 1) {
            fail_msg("%s, %s at %d, %d: event %zu is there %u times", subject->what, fault, step,
                again, i, found.count[i]);
        }
    }
    if (found.wrong || found.lines != EVENTS || found.left) {
        fail_msg("%s, %s at %d, %d: %zu lines, %zu wrong, %zu files left over", subject->what,
            fault, step, again, found.lines, found.wrong, found.left);
    }
}

/* ---- killing --------------------------------------------------------------------------------- */

static void start_over(void)
{
    memset(durable, 0, sizeof(*durable));
    temp_folder_remove(folder);
    mkdir(folder, 0700);
}

/* Run in a child that is killed at step ${at}. True if it has finished before that. */
static bool run_killed(const struct subject *subject, enum fault kind, int at)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        faults.kind = kind;
        faults.at = at;
        faults.count = 1;
        faults.step = 0;
        _exit(run(subject) ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 1) {
        fail_msg("%s, killed at %d: could not go on (status %d)", subject->what, at, status);
    }
    return WEXITSTATUS(status) == 0;
}

static const struct subject subjects[] = {
    {"{path: '%s/events.ndjson'}", {NULL}, "one file"},
    {"{path: '%s/{provider.name}/events.ndjson'}",
        {"a/events.ndjson", "b/events.ndjson", "c/events.ndjson"}, "several files"},
    {"{path: '%s/events.ndjson', rotate: {size: 100}}", {NULL}, "rotated by size"},
    {"{path: '%s/events.ndjson', fsync: 1ms, rotate: {size: 50, gzip: true}}", {NULL},
        "compressed"},
    {"{path: '%s/{provider.name}.ndjson', rotate: {size: 150, gzip: true, keep: 1000}}",
        {"a.ndjson", "b.ndjson", "c.ndjson"}, "several files, compressed"},
    {"{path: '%s/events.ndjson', rotate: {age: 1ms}}", {NULL}, "rotated by age"},
};

static const struct {
    enum fault kind;
    const char *name;
} kills[] = {{FAULT_KILL_BEFORE, "killed before"}, {FAULT_KILL_AFTER, "killed after"},
    {FAULT_KILL_HALF, "killed in a half write"}};

enum {
    SUBJECT_COUNT = sizeof(subjects) / sizeof(subjects[0]),
    KILL_COUNT = sizeof(kills) / sizeof(kills[0]),
};

static void a_kill_at_any_step_leaves_every_event_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        for (size_t k = 0; k < KILL_COUNT; k++) {
            bool done = false;
            int at = 1;
            for (; !done && at < MAX_STEPS; at += STRIDE) {
                start_over();
                done = run_killed(&subjects[s], kills[k].kind, at);
                assert_true(run_killed(&subjects[s], FAULT_NONE, 0));
                check(&subjects[s], kills[k].name, at, 0);
            }
            assert_true(done && at > 8);
        }
    }
}

/* The first steps after a kill take back lines beyond the checkpoint: these steps may be killed as
 * well. */
static void a_kill_while_taking_back_is_taken_back_too(void **state)
{
    (void)state;
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        bool done = false;
        for (int at = 1; !done && at < MAX_STEPS; at += 3 * STRIDE) {
            for (int again = 1 + at % 2; !done && again < 12; again += 2) {
                start_over();
                done = run_killed(&subjects[s], kills[at % KILL_COUNT].kind, at);
                run_killed(&subjects[s], kills[again % KILL_COUNT].kind, again);
                assert_true(run_killed(&subjects[s], FAULT_NONE, 0));
                check(&subjects[s], "killed twice", at, again);
            }
        }
        assert_true(done);
    }
}

/* ---- a failing disk -------------------------------------------------------------------------- */

static void a_disk_that_fails_at_any_step_costs_no_event(void **state)
{
    (void)state;
    static const int errors[] = {ENOSPC, EIO, EACCES};
    for (size_t s = 0; s < SUBJECT_COUNT; s++) {
        for (int at = 1; at < MAX_STEPS; at++) {
            start_over();
            faults.kind = FAULT_ERROR;
            faults.at = at;
            faults.count = 1 + at % 4;
            faults.error = errors[at % 3];
            faults.step = 0;
            bool good = run(&subjects[s]);
            int steps = faults.step;
            faults.step = -1;
            if (!good) {
                fail_msg("%s, failed at %d: could not go on", subjects[s].what, at);
            }
            /* After a failure the output puts compression off for long. A restart does not wait. */
            assert_true(run(&subjects[s]));
            check(&subjects[s], "failed", at, faults.count);
            if (steps < at) {
                break;
            }
        }
    }
}

static int setup(void **state)
{
    (void)state;
    durable = mmap(
        NULL, sizeof(*durable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return durable == MAP_FAILED ? -1 : temp_folder_make(folder, "restart");
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_step_leaves_every_event_once),
        cmocka_unit_test(a_kill_while_taking_back_is_taken_back_too),
        cmocka_unit_test(a_disk_that_fails_at_any_step_costs_no_event),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

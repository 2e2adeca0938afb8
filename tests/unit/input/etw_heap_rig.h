#ifndef ETWSHIP_TESTS_UNIT_INPUT_ETW_HEAP_RIG_H
#define ETWSHIP_TESTS_UNIT_INPUT_ETW_HEAP_RIG_H

#include "etw/etw_registry.h"
#include "etw_session_rig.h"
#include "platform/plat_child.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_rights.h"
#include "platform/plat_self.h"
#include "support/await.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_registry.h"
#include "support/temp_folder.h"

/*
 * Sessions of heaps in a simulated Windows. The program that they launch is this one: `test FOLDER`
 * makes the file FOLDER/ran-PID, waits for FOLDER/end, and ends with 5.
 */
enum { EXIT_CODE = 5 };

#define OPTIONS "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options\\"

static char folder[TEMP_FOLDER_BYTES];
static char *program;
static char line[4096];
static const char *image;
static char key[512];
static struct sim_registry *registry;
static struct live_heap settings;
static const char *stacks[] = {"alloc", "realloc"};

static inline void put_path(const char *name, char path[2 * TEMP_FOLDER_BYTES])
{
    snprintf(path, 2 * TEMP_FOLDER_BYTES, "%s/%s", folder, name);
}

static inline bool is_file(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES];
    put_path(name, path);
    return plat_path_kind(path) == PLAT_PATH_FILE;
}

static inline void make_file(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES];
    put_path(name, path);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    plat_file_close(file);
}

static inline void let_it_end(void)
{
    make_file("end");
}

static inline int set_up(void **state)
{
    (void)state;
    program = plat_rights_program(NULL);
    if (!program || temp_folder_make(folder, "heap") != 0) {
        return -1;
    }
    image = program;
    for (const char *at = program; *at; at++) {
        image = *at == '/' || *at == '\\' ? at + 1 : image;
    }
    snprintf(line, sizeof(line), "\"%s\" \"%s\"", program, folder);
    snprintf(key, sizeof(key), OPTIONS "%s", image);
    registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    settings = (struct live_heap){
        .session = {.buffers = {.size_bytes = 65536, .min = 8}, .flush_ns = 1000000},
        .launch = line,
        .folder = folder,
        .stacks = {.items = stacks, .count = 2}};
    return registry ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    free(program);
    /* Windows releases the program's folder a little after the program has ended. */
    AWAIT(temp_folder_remove(folder) == 0);
    return 0;
}

static inline void start_heap(struct rig *rig)
{
    rig_start_as(rig, ETW_PLAN_HEAP, &settings, NULL, 0);
}

static inline bool is_flagged(struct rig *rig, const void *what)
{
    struct etw_registry_tree tree;
    uint32_t flags = 0;
    (void)rig;
    (void)what;
    etw_registry_init(&tree);
    bool found = etw_registry_read(key, &tree, NULL) &&
                 etw_registry_dword(&tree, "", "TracingFlags", &flags);
    etw_registry_fini(&tree);
    return found && flags == 1;
}

static inline bool is_not_flagged(struct rig *rig, const void *what)
{
    return !is_flagged(rig, what);
}

static inline struct etw_sim_session_info info_of(struct rig *rig)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig->sim, NAME, &info));
    return info;
}

static inline uint32_t await_launched(struct rig *rig)
{
    rig_await(rig, rig_has_note, "launched");
    return info_of(rig).pids[0];
}

/* ${pid} allocates memory; the session's reader gets that event. */
static inline void allocate(struct rig *rig, uint32_t pid)
{
    rig_await(rig, rig_reads, NAME);
    struct buf payload;
    buf_init(&payload, 64);
    etl_put_u64(&payload, 0x1f0000); /* HeapHandle */
    etl_put_u64(&payload, 64);       /* Size */
    etl_put_u64(&payload, 0x200040); /* Address */
    etl_put_u32(&payload, 3);        /* Source */
    const struct etw_sim_kernel_event event = {.hook_id = 0x1021,
        .process_id = pid,
        .thread_id = pid + 4,
        .form = 0,
        .payload = buf_span(&payload)};
    assert_int_equal(etw_sim_kernel_write(rig->sim, &event), 0);
    buf_fini(&payload);
}

static inline bool has_ended(uint32_t pid)
{
    struct error err;
    struct plat_child *child = plat_child_open(pid, &err);
    plat_child_close(child);
    return !child;
}

static inline bool sees_end(struct rig *rig, const void *pid)
{
    (void)rig;
    return has_ended(*(const uint32_t *)pid);
}

/* The launched program runs this. */
static inline int play(const char *where)
{
    char name[64];
    char end[2 * TEMP_FOLDER_BYTES];
    snprintf(folder, sizeof(folder), "%s", where);
    snprintf(name, sizeof(name), "ran-%u", plat_process_id());
    make_file(name);
    put_path("end", end);
    if (!await_file(end)) {
        return 99;
    }
    return EXIT_CODE;
}

#define HEAP_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif

#include "support/etw_sim/sim_world_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_file.h"
#include "support/etw_sim/sim_remote.h"
#include "support/etw_sim/sim_tdh_own.h"
#include "support/etw_sim/sim_world_parse.h"

/*
 * The file is read whole, then its statements are done in an order of their own: first what the
 * machine is, then what TDH knows, so that names can be looked up, then what runs.
 */
enum { MAX_PATHS = 1024, MAX_ARENA_BYTES = 32 * 1024 * 1024, LOGGER_MS = 10 };

struct sim_world {
    struct arena arena;
    struct sim_world_item *items;
    const char *name;
    struct span folder; /* with its separator; empty: the current one */
    struct etw_sim *sim;
    struct sim_tdh *tdh;
    const char *calls; /* NULL: no receiver */
    void (*warn)(void *self, const char *text);
    void *warn_self;
};

static bool fail(const struct sim_world *world, const struct sim_world_item *item,
    struct error *err, const char *what)
{
    return error_set(err, ERR_CONFIG, "%s:%u: %s", world->name, item->line, what);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

static struct span folder_of(const char *path)
{
    size_t size = strlen(path);
    while (size && path[size - 1] != '/' && path[size - 1] != '\\') {
        size--;
    }
    return span_make(path, size);
}

/* NULL without memory. */
static const char *resolve(struct sim_world *world, const char *path)
{
    struct span folder = is_absolute(path) ? span_make(NULL, 0) : world->folder;
    size_t size = strlen(path);
    char *joined = arena_alloc(&world->arena, folder.size + size + 1);
    if (joined) {
        if (folder.size) {
            memcpy(joined, folder.data, folder.size);
        }
        memcpy(joined + folder.size, path, size);
    }
    return joined;
}

/* ---- what TDH knows -------------------------------------------------------------------------- */

static size_t collect(struct sim_world *world, enum sim_world_verb verb, const char **ret_paths)
{
    size_t count = 0;
    for (struct sim_world_item *item = world->items; item; item = item->next) {
        const char *path = item->verb == verb ? resolve(world, item->name) : NULL;
        if (path && count < MAX_PATHS) {
            ret_paths[count++] = path;
        }
    }
    return count;
}

static bool make_tdh(struct sim_world *world, struct error *err)
{
    const char **schemas = arena_alloc_array(&world->arena, MAX_PATHS, sizeof(*schemas));
    const char **traces = arena_alloc_array(&world->arena, MAX_PATHS, sizeof(*traces));
    if (!schemas || !traces) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    const struct sim_tdh_settings settings = {.paths = schemas,
        .path_count = collect(world, SIM_WORLD_SCHEMAS, schemas),
        .traces = traces,
        .trace_count = collect(world, SIM_WORLD_LEARN, traces),
        .warn = world->warn,
        .warn_self = world->warn_self};
    world->tdh = sim_tdh_create(&settings, err);
    return world->tdh != NULL;
}

/* Lines of NAME, tab, GUID; what is none is passed over, such as a heading. */
static bool add_names(struct sim_world *world, const struct sim_world_item *item, struct error *err)
{
    const char *path = resolve(world, item->name);
    char *data = NULL;
    size_t size = 0;
    if (!path || !plat_file_load(path, SIM_WORLD_MAX_BYTES, &data, &size, err)) {
        return false;
    }
    struct span rest = span_make(data, size);
    while (rest.size) {
        const uint8_t *end = memchr(rest.data, '\n', rest.size);
        struct span line = span_first(rest, end ? (size_t)(end - rest.data) : rest.size);
        const uint8_t *tab = memchr(line.data, '\t', line.size);
        struct span name = span_first(line, tab ? (size_t)(tab - line.data) : 0);
        struct span text = span_first(span_from(line, name.size + 1), GUID_TEXT_SIZE);
        struct guid guid;
        if (name.size && guid_parse(text, &guid)) {
            sim_tdh_add_provider(world->tdh, &guid, name);
        }
        rest = span_from(rest, line.size + 1);
    }
    free(data);
    return true;
}

/* ---- what runs ------------------------------------------------------------------------------- */

static struct guid provider_of(struct sim_world *world, const char *text)
{
    struct guid guid = {{0}};
    struct span name = span_text(text);
    if (strcmp(text, "*") == 0 || guid_parse(name, &guid)) {
        return guid;
    }
    for (const struct sim_world_item *item = world->items; item; item = item->next) {
        if (item->verb == SIM_WORLD_PROVIDER && strcmp(item->name, text) == 0 &&
            !guid_is_zero(&item->guid)) {
            return item->guid;
        }
    }
    return sim_tdh_find_guid(world->tdh, name, &guid) ? guid : guid_from_name(name);
}

static bool add_provider(
    struct sim_world *world, const struct sim_world_item *item, struct error *err)
{
    struct guid guid = item->guid;
    if (guid_is_zero(&guid)) {
        guid = provider_of(world, item->name);
    }
    const struct etw_sim_provider_options options = {.guid = guid,
        .name = item->name,
        .kind = (enum etw_sim_kind)item->kind,
        .pid = item->pid,
        .kernel_mode = item->kernel != 0,
        .enable_error = item->error,
        .unregistered = item->unregistered != 0};
    bool is_installed = item->kind == ETW_SIM_TRACELOGGING ||
                        sim_tdh_add_provider(world->tdh, &guid, span_text(item->name));
    bool is_elsewhere = world->sim->options.machine != 0;
    return (is_installed && (is_elsewhere || etw_sim_provider_add(world->sim, &options))) ||
           fail(world, item, err, "out of memory");
}

static bool add_source(
    struct sim_world *world, const struct sim_world_item *item, struct error *err)
{
    const char *path = resolve(world, item->path);
    if (!path) {
        return fail(world, item, err, "out of memory");
    }
    const struct etw_sim_replay replay = {.path = path,
        .provider = provider_of(world, item->name),
        .per_second = item->rate,
        .rounds = item->rounds ? item->rounds : UINT32_MAX};
    struct error why = {0};
    return etw_sim_source_add(world->sim, &replay, &why) || fail(world, item, err, why.text);
}

static bool add_session(
    struct sim_world *world, const struct sim_world_item *item, struct error *err)
{
    const struct etw_sim_session_options options = {.name = item->name,
        .guid = item->guid,
        .mode = item->mode ? item->mode : ETW_MODE_REAL_TIME,
        .buffer_kb = item->buffer,
        .enable_flags = item->flags,
        .clock = item->clock,
        .control_error = item->error,
        .open_error = item->open_error};
    uint32_t code = 0;
    return etw_sim_session_add(world->sim, &options, &code) ||
           error_set(err, ERR_CONFIG, "%s:%u: the session cannot be started: %u", world->name,
               item->line, code);
}

static bool run_item(struct sim_world *world, const struct sim_world_item *item, struct error *err)
{
    if (world->sim->options.machine && item->verb != SIM_WORLD_NAMES &&
        item->verb != SIM_WORLD_PROVIDER) {
        return true; /* it does it */
    }
    switch (item->verb) {
    case SIM_WORLD_NAMES:
        return add_names(world, item, err);
    case SIM_WORLD_PROVIDER:
        return add_provider(world, item, err);
    case SIM_WORLD_EMIT:
        return add_source(world, item, err);
    case SIM_WORLD_SESSION:
        return add_session(world, item, err);
    case SIM_WORLD_PROCESS:
        etw_sim_process_start(world->sim, &(struct etw_sim_process){.pid = item->number,
                                              .image = item->name,
                                              .package = item->package,
                                              .package_app = item->app});
        return true;
    default:
        return true; /* done before */
    }
}

/* What sources replay is known when they are added: providers and names come first. */
static bool run_items(struct sim_world *world, struct error *err)
{
    static const enum sim_world_verb order[] = {
        SIM_WORLD_NAMES, SIM_WORLD_PROCESS, SIM_WORLD_PROVIDER, SIM_WORLD_SESSION, SIM_WORLD_EMIT};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        for (const struct sim_world_item *item = world->items; item; item = item->next) {
            if (item->verb == order[i] && !run_item(world, item, err)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* On Windows several programs may write it at once: it is open for a line only. */
static void note_call(void *self, const char *what, const char *session, uint32_t code)
{
    const struct sim_world *world = self;
    FILE *file = fopen(world->calls, "ab");
    if (file) {
        fprintf(file, "%s %s %u\n", what, session, code);
        fclose(file);
    }
}

static void set_option(
    struct sim_world *world, const struct sim_world_item *item, struct etw_sim_options *options)
{
    switch (item->verb) {
    case SIM_WORLD_PROCESSORS:
        options->processors = item->number;
        break;
    case SIM_WORLD_WINDOWS:
        options->os_build = item->number;
        break;
    case SIM_WORLD_LOGGER:
        options->logger_period_ms = item->number;
        break;
    case SIM_WORLD_HEAPS:
        options->heap_allocs = item->number;
        break;
    case SIM_WORLD_OWN:
        options->own_process = item->number;
        options->own_image = item->name;
        break;
    case SIM_WORLD_NOT_ADMINISTRATOR:
        options->not_administrator = true;
        break;
    case SIM_WORLD_NO_PROFILE_PRIVILEGE:
        options->no_profile_privilege = true;
        break;
    case SIM_WORLD_CALLS:
        world->calls = resolve(world, item->name);
        options->on_call = world->calls ? note_call : NULL;
        options->on_call_self = world;
        break;
    default:
        break;
    }
}

static bool read_world(struct sim_world *world, const char *path, struct error *err)
{
    char *data = NULL;
    size_t size = 0;
    if (!plat_file_load(path, SIM_WORLD_MAX_BYTES, &data, &size, err)) {
        return false;
    }
    world->name = path;
    world->folder = folder_of(path);
    bool ok = sim_world_parse(span_make(data, size), path, &world->arena, &world->items, err);
    free(data);
    return ok;
}

static bool set_up(struct sim_world *world, const char *path, const struct etw_sim_options *base,
    struct error *err)
{
    if (path && !read_world(world, path, err)) {
        return false;
    }
    struct etw_sim_options options = base ? *base : (struct etw_sim_options){.processors = 0};
    options.real_clock = true;
    options.logger_period_ms = options.logger_period_ms ? options.logger_period_ms : LOGGER_MS;
    for (const struct sim_world_item *item = world->items; item; item = item->next) {
        set_option(world, item, &options);
    }
    if (options.machine && !sim_remote_meet(options.machine, &options, err)) {
        return false;
    }
    world->sim = etw_sim_create(&options, err);
    if (!world->sim || !make_tdh(world, err) || !run_items(world, err)) {
        return false;
    }
    sim_tdh_use(world->tdh);
    return true;
}

struct sim_world *sim_world_create(const char *path, const struct etw_sim_options *base,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err)
{
    struct sim_world *world = calloc(1, sizeof(*world));
    if (!world) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    arena_init(&world->arena, MAX_ARENA_BYTES);
    world->warn = warn;
    world->warn_self = warn_self;
    if (!set_up(world, path, base, err)) {
        sim_world_destroy(world);
        return NULL;
    }
    return world;
}

void sim_world_destroy(struct sim_world *world)
{
    if (world) {
        etw_sim_destroy(world->sim);
        sim_tdh_destroy(world->tdh);
        arena_fini(&world->arena);
        free(world);
    }
}

struct etw_sim *sim_world_sim(struct sim_world *world)
{
    return world->sim;
}

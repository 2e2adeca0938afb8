#include "input/file/trace_box.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/grow.h"
#include "base/utf.h"
#include "input/etl/etl_file.h"
#include "input/evtx/evtx_chunk.h"
#include "input/record/etl_format.h"
#include "platform/plat_temp.h"

/* A trace in an archive takes some hundred bytes of memory while the input lives. */
enum { MAX_TRACES = 10000, FEWEST_TRACES = 4, MAX_NAME_BYTES = 64 * 1024 };

static const struct packed_limits *limits_of(const struct trace_box *box)
{
    return box->env.limits ? box->env.limits : &packed_limits;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Append ${name}, any bytes, escaped so that it is one visible line and can be read back. */
static void add_visible(struct buf *out, struct span name)
{
    for (size_t at = 0; at < name.size;) {
        size_t from = at;
        uint8_t utf8[4];
        uint32_t c = utf8_next(name, &at);
        bool control = c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
        size_t size = control ? 0 : utf8_put(c, utf8);
        if (size == at - from && memcmp(utf8, name.data + from, size) == 0) {
            buf_add(out, utf8, size);
            continue;
        }
        for (; from < at; from++) {
            buf_printf(out, "\\x%02x", name.data[from]);
        }
    }
}

/* PATH/MEMBER. If the archive has that name twice, the second is PATH/MEMBER#2, so that names are
 * unique. NULL: out of memory. */
static char *name_of(const struct trace_box *box, struct span member)
{
    struct buf out;
    buf_init(&out, MAX_NAME_BYTES);
    buf_add_text(&out, box->path);
    if (member.size) {
        buf_add_byte(&out, '/');
        add_visible(&out, member);
    }
    buf_add_byte(&out, 0);
    if (!out.failed && map_get(&box->names, span_text((const char *)out.data))) {
        out.size--;
        buf_printf(&out, "#%zu", box->count + 1);
        buf_add_byte(&out, 0);
    }
    if (out.failed) {
        buf_fini(&out);
        return NULL;
    }
    return (char *)out.data;
}

/* ---- listing --------------------------------------------------------------------------------- */

static bool is_trace(struct span member)
{
    return span_ends_nocase(member, ".etl") || span_ends_nocase(member, ".evtx");
}

static bool is_packed_again(struct span member)
{
    static const char *const endings[] = {".etl.gz", ".etl.zst", ".etl.zip", ".etl.cab", ".evtx.gz",
        ".evtx.zst", ".evtx.zip", ".evtx.cab"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (span_ends_nocase(member, endings[i])) {
            return true;
        }
    }
    return false;
}

static bool is_wanted(const struct trace_box *box, struct span member)
{
    return !packed_is_archive(box->kind) || is_trace(member) || is_packed_again(member);
}

/* If memory for the text is short, the trace is empty; opening it reports that. */
static void refuse(struct box_trace *trace, const char *why)
{
    if (!trace->refused) {
        trace->part.size = 0;
        trace->refused = span_copy(span_text(why));
    }
}

static bool add_trace(struct trace_box *box, struct span member)
{
    size_t more = box->capacity ? box->capacity * 2 : FEWEST_TRACES;
    if (box->count == box->capacity &&
        !grow_to(&box->traces, more, &box->capacity, sizeof(*box->traces))) {
        return false;
    }
    char *name = name_of(box, member);
    if (!name || !map_put(&box->names, span_text(name), name)) {
        free(name);
        return false;
    }
    struct box_trace *trace = &box->traces[box->count++];
    *trace = (struct box_trace){.name = name, .member_hash = XXH3_64bits(member.data, member.size)};
    if (packed_is_archive(box->kind) && is_packed_again(member)) {
        refuse(trace, "is a packed file inside an archive. unpack the archive first");
    }
    return true;
}

struct listing {
    struct trace_box *box;
    size_t others; /* files that are not traces */
    bool too_many;
    bool failed;
    char damage[256];
};

static bool is_stopped(struct trace_box *box)
{
    return box->env.stopped && box->env.stopped(box->env.self);
}

static bool list_stopped(void *self)
{
    return is_stopped(((struct listing *)self)->box);
}

static enum packed_step list_begin(void *self, struct span name)
{
    struct listing *list = self;
    if (!is_wanted(list->box, name)) {
        list->others++;
        return PACKED_SKIP;
    }
    list->too_many = list->box->count >= MAX_TRACES;
    list->failed = !list->too_many && !add_trace(list->box, name);
    return list->too_many || list->failed ? PACKED_STOP : PACKED_SKIP;
}

static enum packed_step list_bytes(void *self, struct span bytes)
{
    (void)self;
    (void)bytes;
    return PACKED_SKIP;
}

static void list_damage(void *self, uint64_t offset, const char *what)
{
    struct listing *list = self;
    snprintf(list->damage, sizeof(list->damage), "; damaged at byte %llu: %.180s",
        (unsigned long long)offset, what);
}

/* Find the traces; at least one on success. */
static bool list_traces(struct trace_box *box, struct error *err)
{
    struct listing list = {.box = box};
    const struct packed_visitor visitor = {.self = &list,
        .begin = list_begin,
        .bytes = list_bytes,
        .damage = list_damage,
        .stopped = list_stopped};
    if (!packed_is_archive(box->kind)) {
        return add_trace(box, span_make(NULL, 0)) ||
               error_set(err, ERR_MEMORY, "%s: out of memory", box->path);
    }
    bool good = packed_walk(&box->bytes, box->kind, limits_of(box), &visitor, err);
    etl_bytes_close(&box->bytes);
    if (!good) {
        return false;
    }
    if (list.failed || list.too_many) {
        return list.failed
                   ? error_set(err, ERR_MEMORY, "%s: out of memory", box->path)
                   : error_set(err, ERR_LIMIT, "%s: holds more than %d traces. unpack it first",
                         box->path, MAX_TRACES);
    }
    return box->count ||
           error_set(err, ERR_FORMAT,
               "%s: holds no file whose name ends in .etl or .evtx (number of files: %zu)%s",
               box->path, list.others, list.damage);
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct trace_box *create(
    const char *path, const struct trace_box_env *env, struct error *err)
{
    struct trace_box *box = calloc(1, sizeof(*box));
    char *copy = span_copy(span_text(path));
    if (!box || !copy) {
        free(box);
        free(copy);
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    map_init(&box->names, MAX_TRACES);
    box->path = copy;
    box->env = *env;
    return box;
}

void trace_box_destroy(struct trace_box *box)
{
    if (!box) {
        return;
    }
    for (size_t i = 0; i < box->count; i++) {
        free((void *)(uintptr_t)box->traces[i].name);
        free((void *)(uintptr_t)box->traces[i].refused);
    }
    free(box->traces);
    map_fini(&box->names);
    etl_bytes_close(&box->bytes);
    plat_file_close(box->input);
    free((void *)(uintptr_t)box->path);
    free(box);
}

/* Detect the format. False: it is unsupported. */
static bool find_kind(struct trace_box *box, struct error *err)
{
    uint8_t head[PACKED_HEAD_BYTES];
    size_t got = 0;
    const char *name;
    etl_bytes_read(&box->bytes, 0, head, sizeof(head), &got, NULL);
    box->kind = packed_kind_of(span_make(head, got), &name);
    return box->kind != PACKED_OTHER ||
           error_set(err, ERR_UNSUPPORTED,
               "%s: is packed with %s, which is not supported. unpack it first", box->path, name);
}

bool trace_box_open(const char *path, const struct trace_box_env *env, struct trace_box **ret_box,
    struct error *err)
{
    *ret_box = NULL;
    struct trace_box *box = create(path, env, err);
    if (!box) {
        return false;
    }
    if (!etl_bytes_open(&box->bytes, box->path, &box->handles, NULL)) {
        trace_box_destroy(box);
        return true;
    }
    bool good = find_kind(box, err);
    if (good && box->kind != PACKED_NONE) {
        good = list_traces(box, err);
        if (good) {
            etl_bytes_close(&box->bytes);
            *ret_box = box;
            return true;
        }
    }
    trace_box_destroy(box);
    return good;
}

/* Copy a pipe into the scratch file. */
static bool spool_stdin(struct trace_box *box, struct etl_part *ret_part, struct error *err)
{
    struct trace_scratch *scratch = box->env.scratch;
    uint8_t window[64 * 1024];
    size_t got;
    ret_part->base = scratch->size;
    do {
        if (!plat_stdin_read(box->input, window, sizeof(window), &got, err) ||
            (got && !trace_scratch_add(scratch, span_make(window, got), err))) {
            return false;
        }
    } while (got);
    ret_part->file = scratch->file;
    ret_part->size = scratch->size - ret_part->base;
    return ret_part->size || error_set(err, ERR_FORMAT, "%s: standard input is empty", box->path);
}

static bool take_stdin(struct trace_box *box, struct error *err)
{
    struct etl_part part = {.base = 0};
    box->input = plat_stdin_open(err);
    if (!box->input) {
        return false;
    }
    if (plat_stdin_is_file(box->input, &part.base)) {
        uint64_t size = 0;
        if (!plat_file_size(box->input, &size, err)) {
            return false;
        }
        part.file = box->input;
        part.size = size > part.base ? size - part.base : 0;
    } else if (!spool_stdin(box, &part, err)) {
        return false;
    }
    etl_bytes_use_part(&box->bytes, &part, box->path);
    if (!find_kind(box, err) || !list_traces(box, err)) {
        return false;
    }
    if (box->kind == PACKED_NONE) {
        box->traces[0].part = part;
        box->loaded = true;
    }
    return true;
}

struct trace_box *trace_box_open_stdin(
    const char *name, const struct trace_box_env *env, struct error *err)
{
    struct trace_box *box = create(name, env, err);
    if (box && !take_stdin(box, err)) {
        trace_box_destroy(box);
        return NULL;
    }
    return box;
}

/* ---- passes over the listed traces ----------------------------------------------------------- */

struct pass {
    struct trace_box *box;
    size_t next;               /* next trace to find */
    struct box_trace *current; /* current trace; NULL: none */
    struct buf prefix;         /* identify: first bytes of the trace */
    size_t wanted;             /* number of bytes wanted */
    bool changed;              /* the file differs from the one that was listed */
    struct error why;          /* failure of the scratch file */
    bool failed;
};

static bool pass_stopped(void *self)
{
    return is_stopped(((struct pass *)self)->box);
}

static enum packed_step pass_begin(void *self, struct span name)
{
    struct pass *pass = self;
    struct trace_box *box = pass->box;
    pass->current = NULL;
    if (!is_wanted(box, name)) {
        return PACKED_SKIP;
    }
    pass->changed = pass->next >= box->count ||
                    box->traces[pass->next].member_hash != XXH3_64bits(name.data, name.size);
    if (pass->changed) {
        return PACKED_STOP;
    }
    struct box_trace *trace = &box->traces[pass->next++];
    if (trace->refused) {
        return PACKED_SKIP;
    }
    pass->current = trace;
    return PACKED_GO_ON;
}

/* ---- identities ------------------------------------------------------------------------------ */

/* Bytes needed for the identity, which uses the first two buffers (etl_file.h), as far as ${prefix}
 * tells. */
static size_t prefix_wanted(struct span prefix)
{
    struct etl_buffer buffer;
    const char *problem;
    size_t wanted = ETL_BUFFER_HEADER_SIZE;
    for (int i = 0; i < 2; i++) {
        if (prefix.size < wanted) {
            return wanted;
        }
        size_t at = wanted - ETL_BUFFER_HEADER_SIZE;
        if (!etl_buffer_parse(prefix.data + at, at, &buffer, &problem)) {
            return wanted;
        }
        wanted = at + buffer.size + (i == 0 ? ETL_BUFFER_HEADER_SIZE : 0);
    }
    return wanted;
}

static void identify(struct pass *pass)
{
    enum { HEADER_BYTES = 64 * 1024 };
    struct arena arena;
    /* the identity covers the whole file */
    bool is_log = evtx_chunk_is_log(buf_span(&pass->prefix));
    if (!pass->current || pass->prefix.failed || is_log) {
        return;
    }
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = etl_file_open_memory(
        buf_span(&pass->prefix), pass->current->name, &arena, NULL);
    if (file) {
        memcpy(pass->current->id, file->id, sizeof(file->id));
        pass->current->has_id = true;
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    pass->current = NULL;
}

static enum packed_step identify_begin(void *self, struct span name)
{
    struct pass *pass = self;
    identify(pass);
    enum packed_step step = pass_begin(self, name);
    buf_reset(&pass->prefix);
    pass->wanted = ETL_BUFFER_HEADER_SIZE;
    return step;
}

static enum packed_step identify_bytes(void *self, struct span bytes)
{
    struct pass *pass = self;
    buf_add_span(&pass->prefix, bytes);
    if (pass->prefix.failed) {
        return PACKED_SKIP;
    }
    if (pass->prefix.size >= pass->wanted) {
        pass->wanted = prefix_wanted(buf_span(&pass->prefix));
    }
    return pass->prefix.size >= pass->wanted ? PACKED_SKIP : PACKED_GO_ON;
}

bool trace_box_identify(struct trace_box *box, struct error *err)
{
    enum { MAX_PREFIX_BYTES = 3 * ETL_MAX_BUFFER_BYTES };
    struct error why;
    struct pass pass = {.box = box};
    const struct packed_visitor visitor = {
        .self = &pass, .begin = identify_begin, .bytes = identify_bytes, .stopped = pass_stopped};
    if (box->identified || box->kind == PACKED_NONE) {
        return true;
    }
    buf_init(&pass.prefix, MAX_PREFIX_BYTES);
    bool good = box->input || etl_bytes_open(&box->bytes, box->path, &box->handles, &why);
    good = good && packed_walk(&box->bytes, box->kind, limits_of(box), &visitor, &why);
    if (good && !pass.changed) {
        identify(&pass);
    }
    etl_bytes_close(&box->bytes);
    buf_fini(&pass.prefix);
    box->identified = true;
    if (!good && why.code == ERR_STOPPED) {
        *err = why;
        return false;
    }
    return true; /* a failure here recurs when loading and is reported then */
}

/* ---- all bytes ------------------------------------------------------------------------------- */

static void end_trace(struct pass *pass)
{
    if (pass->current) {
        pass->current->part.size = pass->box->env.scratch->size - pass->current->part.base;
        pass->current->part.file = pass->box->env.scratch->file;
        pass->current = NULL;
    }
}

static enum packed_step load_begin(void *self, struct span name)
{
    struct pass *pass = self;
    end_trace(pass);
    enum packed_step step = pass_begin(self, name);
    if (pass->current) {
        pass->current->part = (struct etl_part){.base = pass->box->env.scratch->size};
    }
    return step;
}

static enum packed_step load_bytes(void *self, struct span bytes)
{
    struct pass *pass = self;
    pass->failed = !trace_scratch_add(pass->box->env.scratch, bytes, &pass->why);
    return pass->failed ? PACKED_STOP : PACKED_GO_ON;
}

static void load_end(void *self)
{
    end_trace(self);
}

static void load_damage(void *self, uint64_t offset, const char *what)
{
    struct pass *pass = self;
    const struct trace_box *box = pass->box;
    char text[320];
    if (box->env.damage && !box->told) {
        /* damage in the trace itself is reported at its place in the trace */
        snprintf(text, sizeof(text), "in the packed file: %s", what);
        box->env.damage(
            box->env.self, pass->current ? pass->current->name : box->path, offset, text);
    }
}

static void load_refuse(void *self, const char *why)
{
    struct pass *pass = self;
    if (pass->current) {
        refuse(pass->current, why);
    }
}

/* Remove the path from the start of an error text. */
static const char *without_path(const struct trace_box *box, const char *why)
{
    size_t size = strlen(box->path);
    return strncmp(why, box->path, size) == 0 && strncmp(why + size, ": ", 2) == 0 ? why + size + 2
                                                                                   : why;
}

/* Mark the current trace and all later ones as missing. */
static void refuse_rest(struct pass *pass, const char *why)
{
    struct trace_box *box = pass->box;
    for (size_t i = pass->current ? (size_t)(pass->current - box->traces) : pass->next;
         i < box->count; i++) {
        refuse(&box->traces[i], why);
    }
    pass->current = NULL;
}

bool trace_box_load(struct trace_box *box, struct error *err)
{
    struct error why;
    struct pass pass = {.box = box};
    const struct packed_visitor visitor = {.self = &pass,
        .begin = load_begin,
        .bytes = load_bytes,
        .end = load_end,
        .damage = load_damage,
        .refuse = load_refuse,
        .stopped = pass_stopped};
    if (box->loaded) {
        return true;
    }
    bool good = box->input || etl_bytes_open(&box->bytes, box->path, &box->handles, &why);
    good = good && packed_walk(&box->bytes, box->kind, limits_of(box), &visitor, &why);
    etl_bytes_close(&box->bytes);
    if (!good && why.code == ERR_STOPPED) {
        *err = why;
        return false;
    }
    if (!good || pass.failed) {
        refuse_rest(&pass, without_path(box, pass.failed ? pass.why.text : why.text));
    }
    end_trace(&pass);
    if (pass.changed) {
        refuse_rest(&pass, "the archive changed while it was read. try again");
    } else {
        refuse_rest(&pass, "is missing in the archive, which is damaged or has changed");
    }
    box->loaded = true;
    box->told |= box->env.damage != NULL;
    return true;
}

void trace_box_unload(struct trace_box *box)
{
    box->loaded = box->kind == PACKED_NONE;
}

struct etl_file *trace_box_trace(const struct trace_box *box, size_t index,
    const struct trace_naming *naming, struct arena *arena, struct error *err)
{
    const struct box_trace *trace = &box->traces[index];
    if (trace->refused) {
        error_set(err, ERR_UNSUPPORTED, "%s: %s", trace->name, trace->refused);
        return NULL;
    }
    return etl_file_open_part(&trace->part, trace->name, naming, arena, err);
}

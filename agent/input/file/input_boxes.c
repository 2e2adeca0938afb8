#include <stdlib.h>

#include "base/filetime.h"
#include "base/grow.h"
#include "input/file/input_file_own.h"

/* Traces that are packed or come from standard input are unpacked into one temporary file of the
 * session. It is truncated when none of them is open, so it holds one packed file at a time, or all
 * that are merged. */

static bool on_stopped(void *self)
{
    return input_file_is_stopped(self);
}

static void on_damage(void *self, const char *name, uint64_t offset, const char *what)
{
    struct input *in = self;
    struct trace_info *trace = arena_alloc(&in->arena, sizeof(*trace));
    struct span path;
    struct span text;
    if (trace && in->sink->damage && arena_copy(&in->arena, span_text(name), &path) &&
        arena_copy(&in->arena, span_text(what), &text)) {
        trace->path = path;
        trace->file = etl_file_shown(&in->naming, path);
        trace->clock.frequency = FILETIME_PER_S;
        in->sink->damage(in->sink->self, trace, offset, (const char *)text.data);
    }
}

static bool add_box(struct input *in, struct trace_box *box)
{
    if (!grow_list(&in->boxes, in->box_count, &in->box_capacity, sizeof(*in->boxes)) ||
        !map_put(&in->by_box, span_text(box->path), box)) {
        return false;
    }
    in->boxes[in->box_count++] = box;
    return true;
}

bool input_boxes_take(struct input *in, const char *path)
{
    const struct trace_box_env env = {
        .scratch = &in->scratch, .self = in, .stopped = on_stopped, .damage = on_damage};
    struct trace_box *box;
    struct error why;
    if (!trace_box_open(path, &env, &box, &why)) {
        if (why.code != ERR_STOPPED) {
            input_file_remember(in, &why);
        }
        return true;
    }
    if (box && !add_box(in, box)) {
        trace_box_destroy(box);
        error_set(&why, ERR_MEMORY, "%s: out of memory", path);
        input_file_remember(in, &why);
        return true;
    }
    for (size_t i = 0; box && i < box->count && input_paths_add_boxed(in, box, i); i++) {}
    return box != NULL;
}

void input_boxes_adopt(struct input *in, struct trace_box *box)
{
    box->env.self = in;
    box->env.stopped = on_stopped;
    box->env.damage = on_damage;
}

struct etl_file *input_boxes_open(
    struct input *in, const struct input_path *path, struct error *err)
{
    if (!trace_box_load(path->box, err)) {
        return NULL;
    }
    struct etl_file *file = trace_box_trace(
        path->box, path->box_index, &in->naming, &in->arena, err);
    if (file) {
        in->total_bytes += 2 * file->bytes.size;
    }
    return file;
}

bool input_boxes_read_id(const struct input_path *path, uint8_t ret_id[16])
{
    struct error why;
    struct trace_box *box = path->box;
    if (!trace_box_identify(box, &why) || !box->traces[path->box_index].has_id) {
        return false;
    }
    memcpy(ret_id, box->traces[path->box_index].id, 16);
    return true;
}

bool input_boxes_place(const struct input_path *path, struct etl_place *ret_place)
{
    struct error why;
    *ret_place = (struct etl_place){.path = path->path};
    if (!path->box) {
        return true;
    }
    if (!trace_box_load(path->box, &why)) {
        return false;
    }
    const struct box_trace *trace = &path->box->traces[path->box_index];
    ret_place->part = &trace->part;
    return !trace->refused && trace->part.size;
}

void input_boxes_release(struct input *in, const struct input_path *next)
{
    if (in->scratch.size == 0 || (next && next->box && next->box->loaded)) {
        return;
    }
    for (size_t i = 0; i < in->box_count; i++) {
        trace_box_unload(in->boxes[i]);
    }
    trace_scratch_cut(&in->scratch, 0);
}

void input_boxes_fini(struct input *in)
{
    for (size_t i = 0; i < in->box_count; i++) {
        trace_box_destroy(in->boxes[i]);
    }
    free(in->boxes);
    map_fini(&in->by_box);
    trace_scratch_fini(&in->scratch);
}

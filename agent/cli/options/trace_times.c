#include "cli/options/trace_times.h"

#include "base/put.h"
#include "base/text/rfc3339.h"
#include "cli/options/trace_options.h"
#include "config/config_value.h"
#include "input/etl/etl_file.h"
#include "input/file/trace_box.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"

/* ---- what traces say of their times ---------------------------------------------------------- */

enum { MAX_INFO_BYTES = 1024 * 1024, MODE_APPEND = 0x4 };

struct asked {
    uint64_t end;           /* end of the latest trace; 0: unknown */
    struct trace_info info; /* the first trace: its zone */
    size_t count;
    struct error err;
    bool failed;
};

static bool take_record(void *self, const struct event_record *record)
{
    struct asked *asked = self;
    asked->end = record->time > asked->end ? record->time : asked->end;
    return true;
}

/* The header has the end, unless the trace was never closed or was appended to. ${box}: the trace
 * is its number ${index}, and ${path} is unused. */
static void ask_one(
    struct asked *asked, const char *path, const struct trace_box *box, size_t index)
{
    struct etl_handles handles = {.newest = NULL};
    struct arena arena;
    arena_init(&arena, MAX_INFO_BYTES);
    struct etl_file *file = box ? trace_box_trace(box, index, NULL, &arena, &asked->err)
                                : etl_file_open(path, NULL, &handles, &arena, &asked->err);
    if (file) {
        const struct etl_info *info = etl_file_info(file);
        const struct etl_visitor visitor = {.self = asked, .record = take_record};
        if (asked->count++ == 0) {
            asked->info = (struct trace_info){.zone = info->trace.zone};
        }
        asked->end = info->end_time > asked->end ? info->end_time : asked->end;
        bool is_told = info->end_time && !(info->mode & MODE_APPEND);
        asked->failed |= !is_told && !etl_file_walk(file, &visitor, &asked->err);
    }
    asked->failed |= !file;
    etl_file_destroy(file);
    arena_fini(&arena);
}

static void ask_box(struct asked *asked, struct trace_box *box)
{
    asked->failed |= !trace_box_load(box, &asked->err);
    for (size_t i = 0; i < box->count && !asked->failed; i++) {
        ask_one(asked, NULL, box, i);
    }
}

static bool ask_trace(void *self, const char *path)
{
    struct asked *asked = self;
    struct trace_scratch scratch = {.file = NULL};
    const struct trace_box_env env = {.scratch = &scratch};
    struct trace_box *box;
    if (!trace_box_open(path, &env, &box, &asked->err)) {
        asked->failed = true;
    } else if (box) {
        ask_box(asked, box);
        trace_box_destroy(box);
    } else {
        ask_one(asked, path, NULL, 0);
    }
    trace_scratch_fini(&scratch);
    return !asked->failed;
}

static bool ask(const struct cli_args *args, struct asked *ret_asked, struct error *err)
{
    *ret_asked = (struct asked){.count = 0};
    for (size_t i = 0; i < args->operand_count; i++) {
        if (strcmp(args->operands[i], TRACE_OPTIONS_STDIN) == 0) {
            struct trace_box *box = trace_options_stdin(err);
            if (!box) {
                return false;
            }
            /* The later reading unpacks it again and reports damage. */
            uint64_t size = box->env.scratch->size;
            ask_box(ret_asked, box);
            trace_box_unload(box);
            trace_scratch_cut(box->env.scratch, size);
        } else if (!plat_glob(args->operands[i], ask_trace, ret_asked, err)) {
            return false;
        }
        if (ret_asked->failed) {
            *err = ret_asked->err;
            return false;
        }
    }
    return true;
}

/* ---- zones ----------------------------------------------------------------------------------- */

bool trace_times_zone(const struct cli_args *args, struct event_zone *ret_zone)
{
    const char *text = cli_value(args, "utc-offset");
    int64_t seconds = 0;
    *ret_zone = (struct event_zone){.kind = EVENT_ZONE_UTC};
    if (!text) {
        return true;
    }
    if (strcmp(text, "local") == 0) {
        *ret_zone = (struct event_zone){.kind = EVENT_ZONE_HERE, .offset_at = plat_local_offset};
        return true;
    }
    if (strcmp(text, "trace") == 0) {
        ret_zone->kind = EVENT_ZONE_TRACE;
        return true;
    }
    if (!rfc3339_parse_zone(span_text(text), &seconds)) {
        cli_error("--utc-offset: '%s' is not an offset. write it as in +02:00, or local for this "
                  "machine's zone, or trace for that of the recording machine",
            text);
        return false;
    }
    *ret_zone = (struct event_zone){.kind = EVENT_ZONE_FIXED, .offset_s = (int32_t)seconds};
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* `-1h30m`, from the end of the traces. */
static bool resolve_relative(
    const struct cli_args *args, struct span duration, uint64_t *ret_filetime, struct error *err)
{
    struct asked asked;
    uint64_t ns;
    if (!config_value_duration(duration, &ns, err)) {
        return error_set(err, ERR_CONFIG,
            "'-%.*s' is not a duration before the end. write whole numbers with units (ms s m h "
            "d), as in -30s or -1h30m",
            SPAN_ARG(span_first(duration, 100)));
    }
    if (!ask(args, &asked, err)) {
        return false;
    }
    if (asked.end == 0) {
        return error_set(err, ERR_FORMAT, "no trace has an end time. write a time");
    }
    *ret_filetime = ns / 100 < asked.end ? asked.end - ns / 100 : 1;
    return true;
}

static bool resolve_absolute(
    const struct cli_args *args, struct span text, uint64_t *ret_filetime, struct error *err)
{
    struct asked asked = {.count = 0};
    struct event_zone zone;
    uint64_t time;
    bool has_zone;
    if (!rfc3339_parse_start(text, &time, &has_zone)) {
        return error_set(err, ERR_CONFIG,
            "'%.*s' is not a time. write it as in 2026-11-21T09:30:00Z, or its beginning, as in "
            "2026-11-21, or -1h for one hour before the trace ends",
            SPAN_ARG(span_first(text, 100)));
    }
    if (!trace_times_zone(args, &zone)) {
        return error_set(err, ERR_CONFIG, "its zone is unknown");
    }
    if (!has_zone && zone.kind == EVENT_ZONE_TRACE && !ask(args, &asked, err)) {
        return false;
    }
    *ret_filetime = has_zone ? time : event_zone_to_utc(&zone, &asked.info, time);
    return true;
}

bool trace_times_resolve(const struct cli_args *args, const char *option, const char *text,
    char ret_text[TRACE_TIMES_TEXT_BYTES], struct error *err)
{
    struct error why;
    uint64_t filetime = 0;
    bool good = text[0] == '-' ? resolve_relative(args, span_text(text + 1), &filetime, &why)
                               : resolve_absolute(args, span_text(text), &filetime, &why);
    uint8_t bytes[PUT_MAX];
    uint8_t *end = bytes;
    if (!good) {
        return error_set(err, why.code, "--%s: %s", option, why.text);
    }
    if (!put_filetime(&end, filetime)) {
        return error_set(err, ERR_CONFIG, "--%s: '%s' is beyond the year 9999", option, text);
    }
    memcpy(ret_text, bytes, (size_t)(end - bytes));
    ret_text[end - bytes] = 0;
    return true;
}

#include "cli/text/spool_text.h"

#include "base/put.h"
#include "base/visible.h"
#include "event/value/value_json.h"

/* The facts of spool_facts.h for people and for programs. */

static void add_time(struct buf *out, uint64_t filetime, const char *none)
{
    uint8_t time[PUT_MAX];
    if (filetime == 0) {
        buf_add_text(out, none);
        return;
    }
    buf_add(out, time, (size_t)(put_filetime_or_hex(time, filetime) - time));
}

/* Three digits are enough for people. */
static void add_size(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    buf_printf(out, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void add_row(struct buf *out, size_t width, const struct spool_output_facts *output)
{
    struct buf size;
    buf_init(&size, 64);
    add_size(&size, output->backlog.bytes);
    visible_add(out, span_text(output->name));
    buf_printf(out, "%*s  %10llu  %10llu  %10.*s  ", (int)(width - strlen(output->name)), "",
        (unsigned long long)output->backlog.batches, (unsigned long long)output->backlog.records,
        SPAN_ARG(buf_span(&size)));
    add_time(out, output->backlog.oldest, "-");
    buf_add_text(out, output->configured ? "\n" : "  not in the configuration\n");
    buf_fini(&size);
}

void spool_text_table(
    const struct spool_facts *facts, const struct spool_text_place *place, struct buf *out)
{
    buf_printf(out, "folder        %s\n", place->folder);
    buf_add_text(out, "on disk       ");
    add_size(out, facts->bytes);
    buf_add_text(out, " of at most ");
    add_size(out, place->max_bytes);
    buf_printf(out, " in %llu files", (unsigned long long)facts->files);
    if (facts->deletable) {
        buf_printf(out, ", %llu of them to be deleted", (unsigned long long)facts->deletable);
    }
    if (place->free_bytes != UINT64_MAX) {
        buf_add_text(out, "; the disk has ");
        add_size(out, place->free_bytes);
        buf_add_text(out, " left, ");
        add_size(out, place->min_free_bytes);
        buf_add_text(out, " stay free");
    }
    buf_printf(out, "\nbatches       %llu", (unsigned long long)facts->info.batches);
    if (facts->oldest) {
        buf_add_text(out, ", the oldest from ");
        add_time(out, facts->oldest, "");
    }
    buf_printf(out, "\ndead letters  %llu (", (unsigned long long)facts->info.letters);
    add_size(out, facts->info.letter_bytes);
    buf_add_text(out, ")\n");
    size_t width = sizeof("OUTPUT") - 1;
    for (size_t i = 0; i < facts->output_count; i++) {
        size_t size = strlen(facts->outputs[i].name);
        width = size > width ? size : width;
    }
    buf_printf(out, "\n%-*s  %10s  %10s  %10s  %s\n", (int)width, "OUTPUT", "BATCHES", "EVENTS",
        "SIZE", "WAITING SINCE");
    for (size_t i = 0; i < facts->output_count; i++) {
        add_row(out, width, &facts->outputs[i]);
    }
}

static void add_number(struct buf *out, const char *name, uint64_t value)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void add_json_time(struct buf *out, const char *name, uint64_t filetime)
{
    buf_printf(out, ",\"%s\":%s", name, filetime ? "\"" : "null");
    if (filetime) {
        add_time(out, filetime, "");
        buf_add_byte(out, '"');
    }
}

static void add_json_output(struct buf *out, const struct spool_output_facts *output)
{
    buf_add_text(out, "{\"name\":");
    value_json_string(span_text(output->name), out);
    buf_printf(out, ",\"configured\":%s", output->configured ? "true" : "false");
    add_number(out, "position", chain_position(output->chain));
    add_number(out, "batches", output->backlog.batches);
    add_number(out, "events", output->backlog.records);
    add_number(out, "bytes", output->backlog.bytes);
    add_json_time(out, "oldest", output->backlog.oldest);
    add_json_time(out, "seen", chain_seen(output->chain));
    buf_add_byte(out, '}');
}

void spool_text_json(
    const struct spool_facts *facts, const struct spool_text_place *place, struct buf *out)
{
    buf_add_text(out, "{\"folder\":");
    value_json_string(span_text(place->folder), out);
    buf_printf(out, ",\"epoch\":\"%016llx\"", (unsigned long long)facts->info.epoch);
    add_number(out, "bytes", facts->bytes);
    add_number(out, "max_bytes", place->max_bytes);
    add_number(out, "files", facts->files);
    if (place->free_bytes != UINT64_MAX) {
        add_number(out, "free_bytes", place->free_bytes);
    }
    add_number(out, "min_free_bytes", place->min_free_bytes);
    add_number(out, "batches", facts->info.batches);
    add_json_time(out, "oldest", facts->oldest);
    add_number(out, "dead_letters", facts->info.letters);
    add_number(out, "dead_letter_bytes", facts->info.letter_bytes);
    add_number(out, "dead_letters_evicted", facts->info.letters_evicted);
    buf_add_text(out, ",\"outputs\":[");
    for (size_t i = 0; i < facts->output_count; i++) {
        buf_add_text(out, i ? "," : "");
        add_json_output(out, &facts->outputs[i]);
    }
    buf_add_text(out, "]}\n");
}

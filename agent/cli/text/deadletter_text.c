#include "cli/text/deadletter_text.h"

#include <stdio.h>

#include "base/put.h"
#include "base/visible.h"

/* Longer cells are cut; the last column only where it is very long. */
enum { CELL_MAX = 48, LAST_CELL_MAX = 300, GAP = 2 };

static const char *const titles[DEADLETTER_COLUMNS] = {
    "ID", "TIME", "OUTPUT", "STATUS", "TYPE", "INDEX", "REASON"};

/* The cell on one line, cut on a character. */
static void add_cell(const struct dead_letter *letter, size_t column, struct buf *out)
{
    size_t start = out->size;
    uint8_t time[PUT_MAX];
    const struct span texts[DEADLETTER_COLUMNS] = {
        [2] = letter->output, [4] = letter->type, [5] = letter->index, [6] = letter->reason};
    size_t max = column + 1 < DEADLETTER_COLUMNS ? CELL_MAX : LAST_CELL_MAX;
    struct span text = span_first(texts[column], max);
    switch (column) {
    case 0:
        buf_printf(out, "%llu", (unsigned long long)letter->id);
        break;
    case 1:
        buf_add(out, time, (size_t)(put_filetime_or_hex(time, letter->time) - time));
        break;
    case 3:
        if (letter->status) {
            buf_printf(out, "%d", letter->status);
        }
        break;
    default:
        while (text.size < texts[column].size && text.size &&
               (texts[column].data[text.size] & 0xc0) == 0x80) {
            text.size--;
        }
        buf_add_span(out, text);
        buf_add_text(out, text.size < texts[column].size ? "..." : "");
    }
    visible_make_line(out, start);
    if (out->size == start) {
        buf_add_byte(out, '-');
    }
}

/* Columns of a terminal, for the characters of Europe. */
static size_t width_from(const struct buf *out, size_t start)
{
    size_t width = 0;
    for (size_t i = start; i < out->size; i++) {
        width += (out->data[i] & 0xc0) != 0x80;
    }
    return width;
}

void deadletter_text_widths(struct deadletter_widths *widths)
{
    for (size_t i = 0; i < DEADLETTER_COLUMNS; i++) {
        widths->columns[i] = strlen(titles[i]);
    }
}

void deadletter_text_measure(struct deadletter_widths *widths, const struct dead_letter *letter)
{
    struct buf cell;
    buf_init(&cell, 64 * 1024);
    for (size_t i = 0; i + 1 < DEADLETTER_COLUMNS; i++) {
        buf_reset(&cell);
        add_cell(letter, i, &cell);
        size_t width = width_from(&cell, 0);
        widths->columns[i] = width > widths->columns[i] ? width : widths->columns[i];
    }
    buf_fini(&cell);
}

void deadletter_text_row(
    const struct deadletter_widths *widths, const struct dead_letter *letter, struct buf *out)
{
    for (size_t i = 0; i < DEADLETTER_COLUMNS; i++) {
        size_t start = out->size;
        if (letter) {
            add_cell(letter, i, out);
        } else {
            buf_add_text(out, titles[i]);
        }
        size_t width = width_from(out, start);
        for (; i + 1 < DEADLETTER_COLUMNS && width < widths->columns[i] + GAP; width++) {
            buf_add_byte(out, ' ');
        }
    }
    buf_add_byte(out, '\n');
}

static void add_line(struct buf *out, const char *name, struct span text)
{
    if (text.size) {
        buf_printf(out, "%-8s  ", name);
        visible_add(out, text);
        buf_add_byte(out, '\n');
    }
}

void deadletter_text_details(const struct dead_letter *letter, struct buf *out)
{
    uint8_t time[PUT_MAX];
    uint8_t *end = put_filetime_or_hex(time, letter->time);
    char status[16] = "";
    buf_printf(out, "%-8s  %llu\n", "id", (unsigned long long)letter->id);
    add_line(out, "time", span_make(time, (size_t)(end - time)));
    add_line(out, "output", letter->output);
    if (letter->status) {
        snprintf(status, sizeof(status), "%d", letter->status);
    }
    add_line(out, "status", span_text(status));
    add_line(out, "type", letter->type);
    add_line(out, "reason", letter->reason);
    add_line(out, "index", letter->index);
    add_line(out, "document",
        letter->document.size ? letter->document : span_text("was too long to be kept"));
}

#include "process/file_events.h"

#include <stdlib.h>

#include "base/utf.h"

static bool is_name(struct span path)
{
    return path.size && path.data[0] == '\\' && !span_is(path, "\\FI_UNKNOWN");
}

bool file_text_init(struct file_text *text, const struct record_file *file)
{
    size_t bound = utf16_json_bound(file->name.size);
    text->path = span_make(NULL, 0);
    text->more = bound > sizeof(text->room) ? malloc(bound) : NULL;
    if (bound > sizeof(text->room) && !text->more) {
        return false;
    }
    uint8_t *start = text->more ? text->more : text->room;
    struct span path = span_make(start, file->name.size ? utf16_to_utf8(file->name, start) : 0);
    if (is_name(path)) {
        text->path = path;
    }
    return true;
}

void file_text_fini(struct file_text *text)
{
    free(text->more);
}

static void tell(struct process_table *table, const struct event_record *record,
    const struct record_file *file, bool ahead)
{
    const uint64_t machine = process_table_machine_of(table, record);
    struct file_news news = {.machine = machine,
        .time = record->time,
        .ahead = ahead,
        .grows = record->trace && record->trace->grows};
    struct file_text text;
    if (!file_text_init(&text, file)) {
        return;
    }
    news.path = text.path;
    news.is_object = file->news == RECORD_FILE_OPENED || file->news == RECORD_FILE_CLOSED;
    news.address = news.is_object ? file->object : file->key;
    switch (file->news) {
    case RECORD_FILE_CREATED:
    case RECORD_FILE_OPENED:
        news.what = FILE_BEGINS;
        break;
    case RECORD_FILE_NAMED:
        news.what = FILE_HOLDS;
        break;
    default:
        news.what = FILE_ENDS;
        break;
    }
    if (file->news == RECORD_FILE_CLOSED || news.path.size) {
        process_table_add_file(table, &news);
    }
    file_text_fini(&text);
}

void file_events_take(struct process_table *table, const struct event_record *record, bool ahead)
{
    struct record_file file;
    if ((record->present & RECORD_HAS_TIME) && record_file_tells(record) &&
        record_file_read(record, &file)) {
        tell(table, record, &file, ahead);
    }
}

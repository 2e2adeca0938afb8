#include "outputs/rejections.h"

enum { MAX_BYTES = 16 * 1024 * 1024 };

/* Header before its texts. */
struct note {
    size_t record;
    int status;
    size_t type_size;
    size_t reason_size;
    size_t index_size;
};

void rejections_init(struct rejections *notes)
{
    buf_init(&notes->bytes, MAX_BYTES);
}

void rejections_fini(struct rejections *notes)
{
    buf_fini(&notes->bytes);
}

void rejections_reset(struct rejections *notes)
{
    buf_reset(&notes->bytes);
}

void rejections_add(struct rejections *notes, size_t record, const struct output_rejection *why)
{
    struct note note = {.record = record,
        .status = why->status,
        .type_size = why->type.size,
        .reason_size = why->reason.size,
        .index_size = why->index.size};
    if (!buf_reserve(
            &notes->bytes, sizeof(note) + note.type_size + note.reason_size + note.index_size)) {
        notes->bytes.failed = false;
        note.type_size = 0;
        note.reason_size = 0;
        note.index_size = 0;
        if (!buf_reserve(&notes->bytes, sizeof(note))) {
            notes->bytes.failed = false;
            return;
        }
    }
    buf_add(&notes->bytes, &note, sizeof(note));
    buf_add(&notes->bytes, why->type.data, note.type_size);
    buf_add(&notes->bytes, why->reason.data, note.reason_size);
    buf_add(&notes->bytes, why->index.data, note.index_size);
}

void rejections_remove_after(struct rejections *notes, size_t mark)
{
    notes->bytes.size = mark;
}

void rejections_tell(const struct rejections *notes, const enum record_status *statuses,
    const struct output_report *report)
{
    struct span rest = buf_span(&notes->bytes);
    while (report->reject && rest.size) {
        struct note note;
        memcpy(&note, rest.data, sizeof(note));
        struct span texts = span_from(rest, sizeof(note));
        struct span after_type = span_from(texts, note.type_size);
        struct span after_reason = span_from(after_type, note.reason_size);
        const struct output_rejection why = {.status = note.status,
            .type = span_first(texts, note.type_size),
            .reason = span_first(after_type, note.reason_size),
            .index = span_first(after_reason, note.index_size)};
        enum record_status status = statuses[note.record];
        if (status != RECORD_RETRY && status != RECORD_DELIVERED) {
            report->reject(report->host, note.record, &why);
        }
        rest = span_from(after_reason, note.index_size);
    }
}

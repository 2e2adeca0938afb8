#include "store/catalogue/catalogue_progress.h"

#include "base/reader.h"
#include "store/catalogue/catalogue_query.h"

/* A session of a row: sequence (8), bytes of the name (2), the name. Little-endian. */
enum { HEAD_BYTES = 10 };

bool catalogue_put_progress(
    struct catalogue *catalogue, const struct catalogue_progress *progress, struct error *err)
{
    bool is_empty = progress->sessions.size == 0 && progress->checkpoint.size == 0;
    struct query q = query_start(
        catalogue, is_empty ? CATALOGUE_REMOVE_PROGRESS : CATALOGUE_PUT_PROGRESS);
    query_text(&q, progress->output, CATALOGUE_NAME_MAX_BYTES);
    if (!is_empty) {
        query_blob(&q, progress->sessions, CATALOGUE_BLOB_MAX_BYTES);
        query_blob(&q, progress->checkpoint, CATALOGUE_BLOB_MAX_BYTES);
        query_proof(&q);
    }
    return query_run(&q, err);
}

bool catalogue_progresses(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_progress *progress), void *self,
    struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PROGRESSES);
    bool more = true;
    while (more && query_next(&q)) {
        const struct catalogue_progress progress = {
            .output = query_get_span(&q, 0),
            .sessions = query_get_span(&q, 1),
            .checkpoint = query_get_span(&q, 2),
        };
        query_get_proof(&q, 3);
        more = query_is_good(&q) && (!each || each(self, &progress));
    }
    return query_end(&q, err);
}

void catalogue_progress_add(struct buf *sessions, struct span session, uint64_t sequence)
{
    uint8_t head[HEAD_BYTES];
    if (session.size > CATALOGUE_NAME_MAX_BYTES) {
        sessions->failed = true;
        return;
    }
    store_le64(head, sequence);
    store_le16(head + 8, (uint16_t)session.size);
    buf_add(sessions, head, sizeof(head));
    buf_add_span(sessions, session);
}

bool catalogue_progress_next(
    struct span *sessions, struct span *ret_session, uint64_t *ret_sequence)
{
    struct reader reader = reader_make(*sessions);
    uint64_t sequence = reader_u64(&reader);
    size_t size = reader_u16(&reader);
    struct span session = reader_take(&reader, size);
    if (reader.failed) {
        return false;
    }
    *ret_sequence = sequence;
    *ret_session = session;
    *sessions = reader_rest(&reader);
    return true;
}

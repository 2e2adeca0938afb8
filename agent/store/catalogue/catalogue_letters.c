#include "store/catalogue/catalogue_letters.h"

#include <stdlib.h>

#include "store/catalogue/catalogue_query.h"

/*
 * A letter takes as many bytes as its texts have, and some for its row. They are read in chunks
 * that are copied, so that no read transaction is open while a caller prints or sends them.
 */
enum {
    ROW_BYTES = 64,
    CHUNK_BYTES = 1024 * 1024,
    CHUNK_LETTERS = 256,
    CHUNK_MAX_BYTES = CHUNK_BYTES + CATALOGUE_DOCUMENT_MAX_BYTES + 8 * CATALOGUE_TEXT_MAX_BYTES,
    TEXTS = 7,
};

/* ---- putting --------------------------------------------------------------------------------- */

static bool put(struct catalogue *catalogue, const struct catalogue_letter *letter, uint64_t id,
    struct error *err)
{
    const struct span texts[TEXTS - 1] = {letter->output, letter->type, letter->reason,
        letter->index, letter->route, letter->document_id};
    struct span document = letter->document.size <= CATALOGUE_DOCUMENT_MAX_BYTES
                               ? letter->document
                               : span_make(NULL, 0);
    uint64_t bytes = ROW_BYTES + document.size;
    for (size_t i = 0; i < TEXTS - 1; i++) {
        bytes += span_first(texts[i], CATALOGUE_TEXT_MAX_BYTES).size;
    }
    struct query q = query_start(catalogue, CATALOGUE_PUT_LETTER);
    query_number(&q, id);
    query_number(&q, bytes);
    query_bits(&q, letter->time);
    query_bits(&q, (uint64_t)letter->status);
    query_text(&q, letter->output, CATALOGUE_NAME_MAX_BYTES);
    for (size_t i = 1; i < TEXTS - 1; i++) {
        query_text(&q, span_first(texts[i], CATALOGUE_TEXT_MAX_BYTES), CATALOGUE_TEXT_MAX_BYTES);
    }
    query_blob(&q, document, CATALOGUE_DOCUMENT_MAX_BYTES);
    query_bits(&q, letter->epoch);
    query_bits(&q, letter->record);
    return query_run(&q, err);
}

static bool evict_one(
    struct catalogue *catalogue, const struct catalogue_letters_room *room, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_EVICT_LETTER);
    query_expect(&q, query_next(&q));
    uint64_t id = query_get_number(&q, 0);
    struct span output = query_get_span(&q, 1);
    uint64_t time = query_get_bits(&q, 2);
    if (query_is_good(&q) && room->evicted) {
        room->evicted(room->self, id, output, time);
    }
    return query_end(&q, err);
}

static bool evict(
    struct catalogue *catalogue, const struct catalogue_letters_room *room, struct error *err)
{
    struct catalogue_info info;
    uint64_t evicted = 0;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    while (info.letter_bytes > room->max_bytes && info.letters > 1) {
        if (!evict_one(catalogue, room, err) || !catalogue_info(catalogue, &info, err)) {
            return false;
        }
        evicted++;
    }
    if (evicted == 0) {
        return true;
    }
    struct query q = query_start(catalogue, CATALOGUE_COUNT_EVICTED);
    query_number(&q, evicted);
    return query_run(&q, err);
}

/* If nothing may be removed: true if there is room for what was added. */
static bool check_room(struct catalogue *catalogue, const struct catalogue_info *before,
    const struct catalogue_letters_room *room, struct error *err)
{
    struct catalogue_info info;
    if (!catalogue_info(catalogue, &info, err)) {
        return false;
    }
    bool fits = info.letter_bytes <= room->max_bytes || before->letters == 0 ||
                info.letters == before->letters;
    return fits ||
           error_set(err, ERR_LIMIT,
               "dead letters are full: they take %llu of %llu bytes. see them with etwship "
               "deadletter list, correct what the destination refuses, then send them again "
               "(deadletter replay) or remove them (deadletter purge)",
               (unsigned long long)before->letter_bytes, (unsigned long long)room->max_bytes);
}

bool catalogue_put_letters(struct catalogue *catalogue, const struct catalogue_letter *letters,
    size_t count, const struct catalogue_letters_room *room, uint64_t *ret_ids, struct error *err)
{
    struct catalogue_info info;
    bool good = catalogue_info(catalogue, &info, err);
    for (size_t i = 0; good && i < count; i++) {
        uint64_t id = info.next.letter + i;
        good = put(catalogue, &letters[i], id, err);
        if (good && ret_ids) {
            ret_ids[i] = sqlite3_changes(catalogue->db) ? id : 0;
        }
    }
    if (!good || !room) {
        return good;
    }
    return room->waits ? check_room(catalogue, &info, room, err) : evict(catalogue, room, err);
}

bool catalogue_restore_letter(
    struct catalogue *catalogue, const struct catalogue_letter *letter, struct error *err)
{
    uint64_t removed;
    return catalogue_remove_letters(catalogue, &letter->id, 1, &removed, err) &&
           put(catalogue, letter, letter->id, err);
}

bool catalogue_remove_letters_to(struct catalogue *catalogue, uint64_t id, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_REMOVE_LETTERS_TO);
    query_last(&q, id);
    return query_run(&q, err);
}

bool catalogue_has_letter(
    struct catalogue *catalogue, uint64_t id, bool *ret_has, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_HAS_LETTER);
    query_last(&q, id);
    *ret_has = query_next(&q) && query_get_number(&q, 0);
    return query_end(&q, err);
}

bool catalogue_first_letter(struct catalogue *catalogue, uint64_t *ret_first, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIRST_LETTER);
    uint64_t first = query_next(&q) ? query_get_number(&q, 0) : 0;
    *ret_first = first ? first : UINT64_MAX;
    return query_end(&q, err);
}

bool catalogue_check_letters(struct catalogue *catalogue, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_CHECK_LETTERS);
    query_expect(&q, query_next(&q) && query_get_number(&q, 0));
    return query_end(&q, err);
}

bool catalogue_remove_letters(struct catalogue *catalogue, const uint64_t *ids, size_t count,
    uint64_t *ret_removed, struct error *err)
{
    uint64_t removed = 0;
    for (size_t i = 0; i < count; i++) {
        struct query q = query_start(catalogue, CATALOGUE_REMOVE_LETTER);
        query_last(&q, ids[i]);
        if (!query_run(&q, err)) {
            return false;
        }
        removed += (uint64_t)sqlite3_changes(catalogue->db);
    }
    *ret_removed = removed;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct chunk {
    struct buf texts; /* one after the other */
    struct {
        uint64_t id;
        uint64_t time;
        int64_t status;
        uint64_t epoch;
        uint64_t record;
        size_t sizes[TEXTS];
    } letters[CHUNK_LETTERS];
    size_t count;
};

static void add_letter(struct chunk *chunk, struct query *q)
{
    chunk->letters[chunk->count].id = query_get_number(q, 0);
    chunk->letters[chunk->count].time = query_get_bits(q, 1);
    chunk->letters[chunk->count].status = (int64_t)query_get_bits(q, 2);
    chunk->letters[chunk->count].epoch = query_get_bits(q, 3 + TEXTS);
    chunk->letters[chunk->count].record = query_get_bits(q, 4 + TEXTS);
    for (int i = 0; i < TEXTS; i++) {
        size_t before = chunk->texts.size;
        query_add_to(q, 3 + i, &chunk->texts);
        chunk->letters[chunk->count].sizes[i] = chunk->texts.size - before;
    }
    chunk->count++;
}

/* The letters after ${after}, as many as make a chunk. */
static bool read_chunk(struct catalogue *catalogue, struct chunk *chunk, uint64_t after,
    uint64_t last, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_LETTERS);
    query_last(&q, after);
    query_last(&q, last);
    buf_reset(&chunk->texts);
    chunk->count = 0;
    while (chunk->count < CHUNK_LETTERS && chunk->texts.size < CHUNK_BYTES && query_next(&q)) {
        add_letter(chunk, &q);
    }
    return query_end(&q, err);
}

static bool give_chunk(const struct chunk *chunk,
    bool (*each)(void *self, const struct catalogue_letter *letter), void *self)
{
    struct span rest = buf_span(&chunk->texts);
    bool more = true;
    for (size_t i = 0; more && i < chunk->count; i++) {
        struct span texts[TEXTS];
        for (size_t k = 0; k < TEXTS; k++) {
            texts[k] = span_first(rest, chunk->letters[i].sizes[k]);
            rest = span_from(rest, texts[k].size);
        }
        struct catalogue_letter letter = {
            .id = chunk->letters[i].id,
            .time = chunk->letters[i].time,
            .status = chunk->letters[i].status,
            .epoch = chunk->letters[i].epoch,
            .record = chunk->letters[i].record,
            .output = texts[0],
            .type = texts[1],
            .reason = texts[2],
            .index = texts[3],
            .route = texts[4],
            .document_id = texts[5],
            .document = texts[6],
        };
        more = each(self, &letter);
    }
    return more;
}

bool catalogue_letters(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_letter *letter), void *self, struct error *err)
{
    struct catalogue_info info;
    struct chunk *chunk = malloc(sizeof(*chunk));
    if (!chunk) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    buf_init(&chunk->texts, CHUNK_MAX_BYTES);
    /* Letters added meanwhile are not included: there might be no end. */
    bool good = catalogue_info(catalogue, &info, err);
    uint64_t after = 0;
    bool more = true;
    while (good && more) {
        good = read_chunk(catalogue, chunk, after, info.next.letter - 1, err);
        more = good && chunk->count && give_chunk(chunk, each, self);
        after = more ? chunk->letters[chunk->count - 1].id : after;
    }
    buf_fini(&chunk->texts);
    free(chunk);
    return good;
}

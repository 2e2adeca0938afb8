#include "outputs/http/http_pieces.h"

#include <stdlib.h>

#include "base/grow.h"
#include "outputs/http/http_status.h"

static const char one_by_one[] =
    "the server rejects one event after another. check the settings of this output";

/* Progress of a delivery. */
struct walk {
    struct http_pieces *pieces;
    const struct delivery *delivery;
    struct output_report *report;
    http_pieces_post_fn *post;
    void *self;
    size_t at;    /* all records before it are settled or wait */
    size_t alone; /* record to send alone, because the server refused it */
    size_t taken;
};

void http_pieces_init(struct http_pieces *pieces, const struct output_env *env)
{
    rejections_init(&pieces->notes);
    pieces->stopping = env->stopping;
    pieces->warn = env->warn;
    pieces->host = env->host;
}

void http_pieces_fini(struct http_pieces *pieces)
{
    free(pieces->statuses);
    rejections_fini(&pieces->notes);
}

bool http_pieces_is_stopping(const struct http_pieces *pieces)
{
    return pieces->stopping && pieces->stopping(pieces->host);
}

void http_pieces_warn(const struct http_pieces *pieces, const char *text)
{
    if (pieces->warn) {
        pieces->warn(pieces->host, text);
    }
}

static bool begin(struct http_pieces *pieces, size_t count)
{
    if (!grow_to(&pieces->statuses, count, &pieces->capacity, sizeof(*pieces->statuses))) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        pieces->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&pieces->notes);
    http_window_start(&pieces->window);
    if (pieces->bad_in_a_row >= HTTP_PIECES_BAD_IN_A_ROW) {
        pieces->window.records = 1; /* it probably refuses all of them again */
    }
    pieces->unsure = 0;
    return true;
}

bool http_piece_holds(const struct http_piece *piece, size_t record)
{
    const uint32_t *routes = piece->delivery->routes;
    return piece->statuses[record] == RECORD_RETRY &&
           (!piece->one_route || !routes || routes[record] == routes[piece->first]);
}

static uint32_t bytes_of(const struct delivery *delivery, size_t record)
{
    return delivery->record_ends[record] - (record ? delivery->record_ends[record - 1] : 0);
}

/* Add one record if it fits. False: the piece is full. */
static bool add(struct http_piece *piece, size_t record, size_t most_records, uint64_t most_bytes)
{
    uint64_t bytes = piece->bytes + bytes_of(piece->delivery, record);
    if (piece->records && (piece->records >= most_records || bytes > most_bytes)) {
        return false;
    }
    piece->records++;
    piece->bytes = bytes;
    piece->count = record + 1 - piece->first;
    return true;
}

/* Make the piece for the next request, from record ${first} on. A record to send alone is its end,
 * or all of it. */
static struct http_piece fit(const struct walk *walk, size_t first)
{
    const struct http_pieces *pieces = walk->pieces;
    struct http_piece piece = {.delivery = walk->delivery,
        .statuses = pieces->statuses,
        .one_route = pieces->one_route,
        .first = first};
    uint64_t most_bytes = http_window_limit(&pieces->window);
    if (pieces->most_bytes && pieces->most_bytes < most_bytes) {
        most_bytes = pieces->most_bytes;
    }
    for (size_t i = first; i < walk->delivery->record_count; i++) {
        if (i == walk->alone && i > first) {
            break;
        }
        if (http_piece_holds(&piece, i) ? !add(&piece, i, pieces->window.records, most_bytes)
                                        : pieces->in_a_row) {
            break;
        }
        if (i == walk->alone) {
            break;
        }
    }
    return piece;
}

static void take(struct walk *walk, const struct http_piece *piece)
{
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        if (http_piece_holds(piece, i)) {
            walk->pieces->statuses[i] = RECORD_DELIVERED;
        }
    }
    walk->taken += piece->records;
    walk->pieces->bad_in_a_row = 0;
    walk->pieces->set_up_faults = 0;
}

static void block(struct walk *walk, size_t record, const struct output_rejection *why)
{
    uint32_t route = walk->delivery->routes[record];
    for (size_t i = 0; i < walk->delivery->record_count; i++) {
        if (walk->delivery->routes[i] == route && walk->pieces->statuses[i] == RECORD_RETRY) {
            rejections_add(&walk->pieces->notes, i, why);
            walk->pieces->statuses[i] = RECORD_BLOCKED;
        }
    }
}

/* The set-up looks wrong: drop the rejections of this delivery. */
static void take_back(struct walk *walk, enum http_piece_verdict verdict)
{
    struct http_pieces *pieces = walk->pieces;
    for (size_t i = 0; i < walk->delivery->record_count; i++) {
        if (pieces->statuses[i] == RECORD_REJECTED) {
            pieces->statuses[i] = RECORD_RETRY;
        }
    }
    if (verdict == HTTP_PIECE_LATER || verdict == HTTP_PIECE_LOST) {
        return;
    }
    pieces->set_up_faults++;
    walk->report->degraded = true;
    if (verdict == HTTP_PIECE_REFUSED || verdict == HTTP_PIECE_TOO_BIG) {
        struct error cause = walk->report->error;
        error_set(&walk->report->error, ERR_IO, "%s: %.300s", one_by_one, cause.text);
    }
}

/* Many records were refused. Send another record alone, at first the last one. False: it is
 * refused, too, there is none, or it is time to stop. */
static bool ask_another(struct walk *walk)
{
    const struct http_pieces *pieces = walk->pieces;
    enum http_piece_verdict verdict = HTTP_PIECE_REFUSED;
    size_t count = walk->delivery->record_count;
    size_t open = count - walk->at;
    for (size_t i = 0, asked = 0; i < open && asked < HTTP_PIECES_BAD_IN_A_ROW; i++) {
        size_t record = count - 1 - (pieces->set_up_faults + i) % open;
        if (pieces->statuses[record] != RECORD_RETRY) {
            continue;
        }
        if (http_pieces_is_stopping(pieces)) {
            verdict = HTTP_PIECE_LATER;
            break;
        }
        const struct http_piece piece = {.delivery = walk->delivery,
            .statuses = pieces->statuses,
            .first = record,
            .count = 1,
            .records = 1,
            .bytes = bytes_of(walk->delivery, record)};
        struct http_piece_answer answer = walk->post(walk->self, &piece, walk->report);
        verdict = answer.verdict;
        asked++;
        if (verdict == HTTP_PIECE_TAKEN) {
            take(walk, &piece);
            return true;
        }
        if (verdict != HTTP_PIECE_BLOCKED || !walk->delivery->routes) {
            break;
        }
        block(walk, record, &answer.why);
    }
    take_back(walk, verdict);
    return false;
}

/* True if the set-up looks wrong. */
static bool is_doubtful(const struct walk *walk)
{
    return walk->pieces->bad_in_a_row >= HTTP_PIECES_BAD_IN_A_ROW && !walk->taken;
}

/* Reject ${record}, which was sent alone, unless the set-up is wrong. False: it is, so stop sending
 * this delivery. */
static bool reject(struct walk *walk, size_t record, const struct output_rejection *why)
{
    bool doubtful = is_doubtful(walk);
    rejections_add(&walk->pieces->notes, record, why);
    walk->pieces->statuses[record] = RECORD_REJECTED;
    walk->pieces->bad_in_a_row++;
    return !doubtful || ask_another(walk);
}

/* Find the refused record of ${piece}; UNKNOWN: the server does not name it. If all records have
 * one blocked route, any of them will do. */
static size_t record_of(const struct http_piece *piece, const struct http_piece_answer *answer)
{
    bool blocked = answer->verdict == HTTP_PIECE_BLOCKED;
    size_t named = answer->record;
    if (piece->records == 1 || (blocked && piece->one_route)) {
        return piece->first;
    }
    bool known = named >= piece->first && named < piece->first + piece->count &&
                 http_piece_holds(piece, named);
    return known ? named : HTTP_PIECES_UNKNOWN;
}

/* Handle the refusal of a record of ${piece}, or of its route. False: stop sending this
 * delivery. */
static bool search(
    struct walk *walk, const struct http_piece *piece, const struct http_piece_answer *answer)
{
    size_t record = record_of(piece, answer);
    if (record != HTTP_PIECES_UNKNOWN && answer->verdict == HTTP_PIECE_BLOCKED) {
        block(walk, record, &answer->why);
        return true;
    }
    if (piece->records == 1) {
        return reject(walk, record, &answer->why);
    }
    if (is_doubtful(walk)) {
        http_window_refused(&walk->pieces->window, piece->records);
        return ask_another(walk);
    }
    /* A server that names another record before the first one was sent alone may go on like this:
     * halving is faster. */
    bool again = walk->alone != HTTP_PIECES_UNKNOWN &&
                 walk->pieces->statuses[walk->alone] == RECORD_RETRY;
    if (record != HTTP_PIECES_UNKNOWN && !again) {
        walk->alone = record;
    } else {
        http_window_refused(&walk->pieces->window, piece->records);
    }
    return true;
}

/* Handle the answer for ${piece}. False: stop sending this delivery. */
static bool follow(
    struct walk *walk, const struct http_piece *piece, const struct http_piece_answer *answer)
{
    struct http_window *window = &walk->pieces->window;
    switch (answer->verdict) {
    case HTTP_PIECE_TAKEN:
        http_window_taken(window, piece->bytes);
        take(walk, piece);
        return true;
    case HTTP_PIECE_TOO_BIG:
        return http_window_too_big(window, piece->records, piece->bytes) ||
               reject(walk, piece->first, &answer->why);
    case HTTP_PIECE_REFUSED:
        return search(walk, piece, answer);
    case HTTP_PIECE_BLOCKED:
        if (walk->delivery->routes) {
            return search(walk, piece, answer);
        }
        walk->report->degraded = true;
        return false;
    case HTTP_PIECE_MEND:
        walk->report->degraded = true;
        return false;
    case HTTP_PIECE_LOST:
        http_window_lost(window, piece->records, piece->bytes);
        return false;
    default:
        return false;
    }
}

static bool step(struct walk *walk)
{
    struct http_piece piece = fit(walk, walk->at);
    struct http_piece_answer answer = walk->post(walk->self, &piece, walk->report);
    return follow(walk, &piece, &answer);
}

static void skip_settled(struct walk *walk)
{
    while (walk->at < walk->delivery->record_count &&
           walk->pieces->statuses[walk->at] != RECORD_RETRY) {
        walk->at++;
    }
}

bool http_pieces_send(struct http_pieces *pieces, const struct delivery *delivery,
    struct output_report *report, http_pieces_post_fn *post, void *self)
{
    struct walk walk = {.pieces = pieces,
        .delivery = delivery,
        .report = report,
        .post = post,
        .self = self,
        .alone = HTTP_PIECES_UNKNOWN};
    if (!begin(pieces, delivery->record_count)) {
        return error_set(&report->error, ERR_MEMORY, "out of memory");
    }
    for (int i = 0; i < HTTP_PIECES_MAX_REQUESTS; i++) {
        skip_settled(&walk);
        if (walk.at >= delivery->record_count || !step(&walk) || http_pieces_is_stopping(pieces)) {
            break;
        }
    }
    return true;
}

enum http_piece_verdict http_pieces_of_status(int status)
{
    switch (http_status_verdict(status)) {
    case HTTP_TAKEN:
    case HTTP_MEND:
        return HTTP_PIECE_MEND;
    case HTTP_TOO_BIG:
        return HTTP_PIECE_TOO_BIG;
    case HTTP_REFUSED:
        return HTTP_PIECE_REFUSED;
    default:
        return HTTP_PIECE_LATER;
    }
}

enum http_piece_verdict http_pieces_no_memory(size_t records, struct error *err)
{
    error_set(err, ERR_MEMORY, "out of memory for a request of %zu events", records);
    return records > 1 ? HTTP_PIECE_TOO_BIG : HTTP_PIECE_LATER;
}

enum http_piece_verdict http_pieces_of_failure(enum http_failure failure)
{
    return http_failure_lasts(failure)                         ? HTTP_PIECE_MEND
           : failure == HTTP_LOST || failure == HTTP_TIMED_OUT ? HTTP_PIECE_LOST
                                                               : HTTP_PIECE_LATER;
}

void http_pieces_take_back(
    struct http_pieces *pieces, const struct delivery *delivery, size_t first, size_t count)
{
    const uint32_t *routes = pieces->one_route ? delivery->routes : NULL;
    for (size_t i = first; i < first + count; i++) {
        bool held = !routes || routes[i] == routes[first];
        if (held && pieces->statuses[i] == RECORD_DELIVERED) {
            pieces->statuses[i] = RECORD_RETRY;
        }
    }
}

enum output_verdict http_pieces_verdict(
    const struct http_pieces *pieces, const struct delivery *delivery, struct output_report *report)
{
    size_t count[RECORD_HELD + 1] = {0};
    report->maybe_duplicates = pieces->unsure;
    for (size_t i = 0; i < delivery->record_count; i++) {
        count[pieces->statuses[i]]++;
    }
    if (count[RECORD_DELIVERED] == delivery->record_count) {
        report->error = (struct error){0};
        report->wait_ms = 0;
        report->degraded = false;
        return OUTPUT_DELIVERED;
    }
    if (!report->error.code) {
        error_set(&report->error, ERR_STOPPED, "not all of it was sent");
    }
    rejections_tell(&pieces->notes, pieces->statuses, report);
    if (count[RECORD_RETRY] == delivery->record_count) {
        return OUTPUT_RETRY;
    }
    if (count[RECORD_REJECTED] == delivery->record_count) {
        return OUTPUT_REJECTED;
    }
    memcpy(report->records, pieces->statuses, delivery->record_count * sizeof(*report->records));
    return OUTPUT_MIXED;
}

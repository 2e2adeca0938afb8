#include "outputs/http/http_pieces.h"

#include <stdlib.h>

static const char one_by_one[] = "the server refuses one event after the other. check what the "
                                 "settings of this output ask for";

/* How far a delivery is. */
struct walk {
    struct http_pieces *pieces;
    const struct delivery *delivery;
    struct output_report *report;
    http_pieces_post_fn *post;
    void *self;
    size_t at;    /* all before is settled, or waits */
    size_t alone; /* this record goes alone: it is the one that the server blames */
    size_t taken;
};

void http_pieces_init(struct http_pieces *pieces)
{
    rejections_init(&pieces->notes);
}

void http_pieces_fini(struct http_pieces *pieces)
{
    free(pieces->statuses);
    rejections_fini(&pieces->notes);
}

static bool begin(struct http_pieces *pieces, size_t count)
{
    if (count > pieces->capacity) {
        enum record_status *statuses = realloc(pieces->statuses, count * sizeof(*statuses));
        if (!statuses) {
            return false;
        }
        pieces->statuses = statuses;
        pieces->capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        pieces->statuses[i] = RECORD_RETRY;
    }
    rejections_reset(&pieces->notes);
    http_window_start(&pieces->window);
    return true;
}

static uint32_t bytes_of(const struct delivery *delivery, size_t first, size_t count)
{
    uint32_t start = first ? delivery->record_ends[first - 1] : 0;
    return delivery->record_ends[first + count - 1] - start;
}

/* How many records from ${first} on go into one request. */
static size_t fit(const struct walk *walk, size_t first)
{
    const struct http_pieces *pieces = walk->pieces;
    const struct delivery *delivery = walk->delivery;
    size_t count = http_window_fit(&pieces->window, delivery, first);
    if (walk->alone >= first && walk->alone - first < count) {
        count = walk->alone > first ? walk->alone - first : 1;
    }
    while (
        pieces->most_bytes && count > 1 && bytes_of(delivery, first, count) > pieces->most_bytes) {
        count -= count > 64 ? count / 16 : 1;
    }
    size_t same = 1;
    while (pieces->one_route && delivery->routes && same < count &&
           delivery->routes[first + same] == delivery->routes[first]) {
        same++;
    }
    return pieces->one_route && delivery->routes ? same : count;
}

static void take(struct walk *walk, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if (walk->pieces->statuses[i] == RECORD_RETRY) {
            walk->pieces->statuses[i] = RECORD_DELIVERED;
        }
    }
    walk->taken += count;
    walk->pieces->bad_in_a_row = 0;
    walk->pieces->blamed = 0;
}

/* Nothing is rejected: it looks like the set-up. */
static void blame(struct walk *walk)
{
    struct http_pieces *pieces = walk->pieces;
    for (size_t i = 0; i < walk->delivery->record_count; i++) {
        if (pieces->statuses[i] == RECORD_REJECTED) {
            pieces->statuses[i] = RECORD_RETRY;
        }
    }
    rejections_reset(&pieces->notes);
    pieces->blamed++;
    walk->report->degraded = true;
    struct error said = walk->report->error;
    error_set(&walk->report->error, ERR_IO, "%s: %.300s", one_by_one, said.text);
}

/* False: it looks like the set-up. */
static bool reject(struct walk *walk, size_t record, const struct output_rejection *why)
{
    rejections_add(&walk->pieces->notes, record, why);
    walk->pieces->statuses[record] = RECORD_REJECTED;
    walk->pieces->bad_in_a_row++;
    if (walk->pieces->bad_in_a_row < HTTP_PIECES_BAD_IN_A_ROW || walk->taken) {
        return true;
    }
    blame(walk);
    return false;
}

static void block(struct walk *walk, size_t culprit, const struct output_rejection *why)
{
    uint32_t route = walk->delivery->routes[culprit];
    for (size_t i = 0; i < walk->delivery->record_count; i++) {
        if (walk->delivery->routes[i] == route && walk->pieces->statuses[i] == RECORD_RETRY) {
            rejections_add(&walk->pieces->notes, i, why);
            walk->pieces->statuses[i] = RECORD_BLOCKED;
        }
    }
}

/* A record of ${piece} is refused, or its route. False: no more of this delivery now. */
static bool search(
    struct walk *walk, const struct http_piece *piece, const struct http_piece_answer *answer)
{
    size_t culprit = piece->count == 1 ? piece->first : answer->culprit;
    bool known = culprit >= piece->first && culprit < piece->first + piece->count &&
                 piece->statuses[culprit] == RECORD_RETRY;
    if (known && answer->verdict == HTTP_PIECE_BLOCKED) {
        block(walk, culprit, &answer->why);
        return true;
    }
    if (piece->count == 1) {
        walk->at++;
        return reject(walk, piece->first, &answer->why);
    }
    if (known) {
        walk->alone = culprit;
    } else {
        http_window_refused(&walk->pieces->window, piece->count);
    }
    return true;
}

/* What became of ${piece}. False: no more of this delivery now. */
static bool follow(
    struct walk *walk, const struct http_piece *piece, const struct http_piece_answer *answer)
{
    struct http_window *window = &walk->pieces->window;
    uint32_t bytes = bytes_of(walk->delivery, piece->first, piece->count);
    switch (answer->verdict) {
    case HTTP_PIECE_TAKEN:
        http_window_taken(window, bytes);
        take(walk, piece->first, piece->count);
        walk->at = piece->first + piece->count;
        return true;
    case HTTP_PIECE_TOO_BIG:
        if (http_window_too_big(window, piece->count, bytes)) {
            return true;
        }
        walk->at++;
        return reject(walk, piece->first, &answer->why);
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
    default:
        return false;
    }
}

/* One record alone, another one each time, while the set-up is blamed. False: it is still to blame. */
static bool ask_one(struct walk *walk)
{
    struct http_pieces *pieces = walk->pieces;
    const struct http_piece piece = {.delivery = walk->delivery,
        .statuses = pieces->statuses,
        .first = pieces->blamed % walk->delivery->record_count,
        .count = 1};
    struct http_piece_answer answer = walk->post(walk->self, &piece, walk->report);
    if (answer.verdict == HTTP_PIECE_TAKEN) {
        take(walk, piece.first, 1);
        return true;
    }
    if (answer.verdict == HTTP_PIECE_REFUSED || answer.verdict == HTTP_PIECE_TOO_BIG) {
        blame(walk);
    }
    walk->report->degraded = walk->report->degraded || answer.verdict == HTTP_PIECE_MEND ||
                             answer.verdict == HTTP_PIECE_BLOCKED;
    return false;
}

static bool step(struct walk *walk)
{
    struct http_piece piece = {.delivery = walk->delivery,
        .statuses = walk->pieces->statuses,
        .first = walk->at,
        .count = fit(walk, walk->at)};
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
    struct output_report *report, http_pieces_post_fn *post, void *self,
    bool (*stopping)(void *host), void *host)
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
    if (delivery->record_count && pieces->bad_in_a_row >= HTTP_PIECES_BAD_IN_A_ROW &&
        !ask_one(&walk)) {
        return true;
    }
    for (int i = 0; i < HTTP_PIECES_MAX_REQUESTS; i++) {
        skip_settled(&walk);
        if (walk.at >= delivery->record_count || (i && stopping && stopping(host)) ||
            !step(&walk)) {
            break;
        }
    }
    return true;
}

void http_pieces_take_back(struct http_pieces *pieces, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if (pieces->statuses[i] == RECORD_DELIVERED) {
            pieces->statuses[i] = RECORD_RETRY;
        }
    }
}

enum output_verdict http_pieces_verdict(
    const struct http_pieces *pieces, const struct delivery *delivery, struct output_report *report)
{
    size_t count[RECORD_HELD + 1] = {0};
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

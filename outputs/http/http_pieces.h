#ifndef ETWSHIP_OUTPUTS_HTTP_PIECES_H
#define ETWSHIP_OUTPUTS_HTTP_PIECES_H

#include "outputs/http/http_window.h"
#include "outputs/rejections.h"

/*
 * Sends a delivery in as many requests as its server needs: first all of it; if the server finds
 * that too large or rejects something in it, smaller parts, down to the rejected record. The
 * caller's post function returns the result of each request; this file decides what follows for the
 * records.
 *
 * If a server rejects one record after another, its set-up is more likely wrong than every record.
 * After HTTP_PIECES_BAD_IN_A_ROW rejections without an accepted record nothing is rejected any
 * more: each try sends one record, another one each time, until one is accepted. Records that wait
 * because their route accepts nothing are not sent then.
 */
enum { HTTP_PIECES_BAD_IN_A_ROW = 16, HTTP_PIECES_MAX_REQUESTS = 1000 };

#define HTTP_PIECES_UNKNOWN SIZE_MAX

enum http_piece_verdict {
    HTTP_PIECE_LATER,   /* the same again; zero is the safe answer. The error is set */
    HTTP_PIECE_MEND,    /* the same, for a fault of the set-up */
    HTTP_PIECE_TAKEN,   /* arrived */
    HTTP_PIECE_TOO_BIG, /* less at a time; a single record that is too big is rejected */
    HTTP_PIECE_REFUSED, /* a record of it will never be taken */
    HTTP_PIECE_BLOCKED, /* one of its routes accepts nothing now; without routes: HTTP_PIECE_MEND */
};

/* The records of one request: of the ${count} records of ${delivery} from ${first} on those that
 * http_piece_holds; the first is one of them. */
struct http_piece {
    const struct delivery *delivery;
    const enum record_status
        *statuses;  /* of the delivery; only those with RECORD_RETRY are to be sent */
    bool one_route; /* and of them only those with the route of the first */
    size_t first;
    size_t count;
    size_t records; /* how many it holds, and their bytes */
    uint64_t bytes;
};

bool http_piece_holds(const struct http_piece *piece, size_t record);

struct http_piece_answer {
    enum http_piece_verdict verdict;
    size_t
        record; /* index of the delivery: the record that the server refuses, or HTTP_PIECES_UNKNOWN.
                    What it says of other records does not count */
    struct output_rejection
        why; /* of what is refused, too big or blocked; views until the next call */
};

/* Send ${piece}. Sets ${report}'s error, wait_ms and degraded where it is not taken. */
typedef struct http_piece_answer http_pieces_post_fn(
    void *self, const struct http_piece *piece, struct output_report *report);

struct http_pieces {
    struct http_window window;
    enum record_status *statuses; /* of the delivery in hand */
    size_t capacity;
    struct rejections notes;
    unsigned bad_in_a_row;
    unsigned set_up_faults; /* how often the set-up looked wrong since something was taken */
    bool one_route;         /* set by the owner: all records of a request have the same route */
    size_t most_bytes;      /* set by the owner: of the records of one request; 0: no limit */
};

/* Zeroed memory, except what the owner sets. */
void http_pieces_init(struct http_pieces *pieces);
void http_pieces_fini(struct http_pieces *pieces);

/* Send all of ${delivery} by ${post}, until something has to wait or ${stopping} says so (NULL: never). False:
 * out of memory. */
bool http_pieces_send(struct http_pieces *pieces, const struct delivery *delivery,
    struct output_report *report, http_pieces_post_fn *post, void *self,
    bool (*stopping)(void *host), void *host);

/* The verdict of ${status} where the reply itself is no acknowledgement: HTTP_PIECE_MEND also for a success. */
enum http_piece_verdict http_pieces_of_status(int status);

/* The accepted records of this piece of ${delivery} did not arrive after all. */
void http_pieces_take_back(
    struct http_pieces *pieces, const struct delivery *delivery, size_t first, size_t count);

/* The result of the whole ${delivery}. */
enum output_verdict http_pieces_verdict(const struct http_pieces *pieces,
    const struct delivery *delivery, struct output_report *report);

#endif

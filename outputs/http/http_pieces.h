#ifndef ETWSHIP_OUTPUTS_HTTP_PIECES_H
#define ETWSHIP_OUTPUTS_HTTP_PIECES_H

#include "outputs/http/http_failure.h"
#include "outputs/http/http_window.h"
#include "outputs/rejections.h"

/*
 * Sends a delivery in as many requests as its server needs: first all of it; if the server finds
 * that too large or rejects something in it, smaller parts, down to the rejected record. The
 * caller's post function returns the result of each request; this file decides what follows for the
 * records.
 *
 * If a server rejects one record after another, its set-up is more likely wrong than every record
 * (Splunk answers 400 for an unknown index, too). After HTTP_PIECES_BAD_IN_A_ROW rejections without
 * an accepted record, over deliveries, another record is sent alone before the next is rejected. If
 * that is refused, too, the set-up is wrong: the rejections of this delivery are dropped, and it
 * waits as for any fault of the set-up. Each try sends another record, so that many bad records do
 * not look like a bad set-up forever. Records that wait because their route accepts nothing are not
 * sent then.
 */
enum { HTTP_PIECES_BAD_IN_A_ROW = 16, HTTP_PIECES_MAX_REQUESTS = 1000 };

#define HTTP_PIECES_UNKNOWN SIZE_MAX

enum http_piece_verdict {
    HTTP_PIECE_LATER,   /* send it again; zero is the safe answer. The error is set */
    HTTP_PIECE_LOST,    /* the same, as no whole reply came: in halves if that goes on */
    HTTP_PIECE_MEND,    /* send it again, but the set-up has a fault */
    HTTP_PIECE_TAKEN,   /* arrived */
    HTTP_PIECE_TOO_BIG, /* less at a time; a single record that is too big is rejected */
    HTTP_PIECE_REFUSED, /* the server will never accept a record of it */
    HTTP_PIECE_BLOCKED, /* one of its routes accepts nothing now; without routes: HTTP_PIECE_MEND */
};

/* The records of one request: those of the ${count} records of ${delivery} from ${first} on for
 * which http_piece_holds is true. The first one is among them. */
struct http_piece {
    const struct delivery *delivery;
    const enum record_status
        *statuses;  /* of the delivery; only those with RECORD_RETRY are to be sent */
    bool one_route; /* and only those with the route of the first */
    size_t first;
    size_t count;
    size_t records; /* number of its records, and their bytes */
    uint64_t bytes;
};

bool http_piece_holds(const struct http_piece *piece, size_t record);

struct http_piece_answer {
    enum http_piece_verdict verdict;
    /* index in the delivery of the refused record, or HTTP_PIECES_UNKNOWN. The answer does not
     * apply to other records */
    size_t record;
    /* reason for what is refused, too big or blocked; views, valid until the next call */
    struct output_rejection why;
};

/* Send ${piece}. Unless it is taken, set error, wait_ms and degraded of ${report}. */
typedef struct http_piece_answer http_pieces_post_fn(
    void *self, const struct http_piece *piece, struct output_report *report);

struct http_pieces {
    struct http_window window;
    enum record_status *statuses; /* of the current delivery */
    size_t capacity;
    struct rejections notes;
    unsigned bad_in_a_row;
    unsigned set_up_faults; /* how often the set-up looked wrong since the last accepted record */
    uint64_t unsure; /* set by the owner: records of the current delivery that may have arrived */
    bool (*stopping)(void *host); /* as in output_env; NULL: the output never stops early */
    void (*warn)(void *host, const char *text); /* as in output_env; NULL: no warnings */
    void *host;                                 /* of these two */
    bool one_route;    /* set by the owner: all records of a request have the same route */
    bool in_a_row;     /* set by the owner: between its records there are no others */
    size_t most_bytes; /* set by the owner: limit for the records of one request; 0: none */
};

/* Zeroed memory, except what the owner sets. */
void http_pieces_init(struct http_pieces *pieces, const struct output_env *env);
void http_pieces_fini(struct http_pieces *pieces);

bool http_pieces_is_stopping(const struct http_pieces *pieces);
void http_pieces_warn(const struct http_pieces *pieces, const char *text);

/* Send all of ${delivery} with ${post}, until something has to wait or it is time to stop. False:
 * out of memory. */
bool http_pieces_send(struct http_pieces *pieces, const struct delivery *delivery,
    struct output_report *report, http_pieces_post_fn *post, void *self);

/* The verdict on ${status} if the reply itself is no acknowledgement: HTTP_PIECE_MEND also for a
 * success. */
enum http_piece_verdict http_pieces_of_status(int status);

/* The verdict if there is no reply. */
enum http_piece_verdict http_pieces_of_failure(enum http_failure failure);

/* The verdict if there is no memory for a request of ${records}. Sets ${err}. */
enum http_piece_verdict http_pieces_no_memory(size_t records, struct error *err);

/* Records of this piece of ${delivery} that counted as delivered did not arrive after all. */
void http_pieces_take_back(
    struct http_pieces *pieces, const struct delivery *delivery, size_t first, size_t count);

/* The result of the whole ${delivery}. */
enum output_verdict http_pieces_verdict(const struct http_pieces *pieces,
    const struct delivery *delivery, struct output_report *report);

#endif

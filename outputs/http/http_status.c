#include "outputs/http/http_status.h"

/* The first row that holds a status decides. RFC 9110, 15; RFC 6585 for 429; RFC 8470 for 425. */
static const struct row {
    int first;
    int last;
    enum http_verdict verdict;
    const char *words;
} rows[] = {
    {200, 299, HTTP_TAKEN, "taken"},
    {300, 399, HTTP_MEND,
        "the server redirects to another address, which the agent does not follow. write that "
        "address if you trust it"},
    {400, 400, HTTP_REFUSED, "the server does not understand the request, or something in it"},
    {401, 401, HTTP_MEND, "the server refuses these credentials. check auth"},
    {402, 403, HTTP_MEND, "the server refuses access. check auth, and the rights of the user"},
    {404, 404, HTTP_MEND, "there is nothing at this address. check it"},
    {405, 406, HTTP_MEND, "the server does not accept such requests there. check the address"},
    {407, 407, HTTP_MEND, "the proxy refuses these credentials. check proxy"},
    {408, 408, HTTP_LATER, "the server did not wait for the request"},
    {410, 411, HTTP_MEND, "the server accepts nothing there any more. check the address"},
    {413, 413, HTTP_TOO_BIG, "the request is too big for the server"},
    {414, 415, HTTP_MEND,
        "the server does not accept this format. check the address, framing and compression"},
    {421, 421, HTTP_LATER, "the server is not responsible for this name"},
    {425, 425, HTTP_LATER, "the server wants the request later"},
    {426, 426, HTTP_MEND, "the server speaks another protocol. check the address"},
    {429, 429, HTTP_LATER, "the server is overloaded"},
    {431, 431, HTTP_MEND, "the headers are too big for the server. check headers"},
    {400, 499, HTTP_REFUSED, "the server rejects something in the request"},
    {501, 501, HTTP_MEND, "the server does not support the request. check the address"},
    {505, 505, HTTP_MEND, "the server does not support this version of HTTP"},
    {511, 511, HTTP_MEND, "the network requires a login first"},
    {500, 599, HTTP_LATER, "the server has a fault"},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const struct row unknown = {0, 0, HTTP_LATER, "this is not a status of HTTP"};

static const struct row *row_of(int status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (status >= rows[i].first && status <= rows[i].last) {
            return &rows[i];
        }
    }
    return &unknown;
}

enum http_verdict http_status_verdict(int status)
{
    return row_of(status)->verdict;
}

const char *http_status_words(int status)
{
    return row_of(status)->words;
}

static const char searched[] =
    "sent in halves until the refused one is alone, which goes to the dead letters; if every event "
    "is refused all wait, and the output counts as degraded";
static const char halved[] = "sent in halves; a single event goes to the dead letters; if every "
                             "event is too big all wait, and the output counts as degraded";
static const char *const verdicts[] = {
    [HTTP_LATER] = "sent again, after `Retry-After` or a growing wait",
    [HTTP_TAKEN] = "delivered",
    [HTTP_MEND] = "sent again slowly; the output counts as degraded",
    [HTTP_TOO_BIG] = halved,
    [HTTP_REFUSED] = searched,
};

void http_status_write_reference(struct buf *out)
{
    buf_add_text(out, "\n## What a status leads to with `http`\n\n"
                      "The first row that holds it counts. No reply, or only part of one: sent "
                      "again.\n\n| Status | It says | The events are |\n|---|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const struct row *row = &rows[i];
        buf_printf(out, "| %d", row->first);
        if (row->last != row->first) {
            buf_printf(out, " to %d", row->last);
        }
        buf_printf(out, " | %s | %s |\n", row->words, verdicts[row->verdict]);
    }
}

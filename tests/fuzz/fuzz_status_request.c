#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "status/status_request.h"

/* Any bytes as a request: views lie within it, the beginning of a request gives no more than all of
 * it, and decoding stays within its room. */
enum { MAX_OUT = 1 << 16 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static void check_view(struct span view, const uint8_t *data, size_t size)
{
    check(view.size == 0 || (view.data >= data && view.data + view.size <= data + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct status_request request;
    enum status_parse whole = status_request_parse(span_make(data, size), &request);
    check_view(request.path, data, size);
    check_view(request.query, data, size);
    check_view(request.host, data, size);
    check_view(request.authorization, data, size);
    check_view(request.accept, data, size);
    check(size < STATUS_REQUEST_MAX_BYTES || whole != STATUS_PARSE_MORE);
    if (whole == STATUS_PARSE_DONE) {
        struct buf out;
        buf_init(&out, MAX_OUT);
        check(request.path.size && request.path.data[0] == '/');
        status_request_query(&request, "where", &out);
        status_request_is_local(request.host);
        buf_fini(&out);
    }
    struct status_request part;
    enum status_parse half = status_request_parse(span_make(data, size / 2), &part);
    /* An error beyond a limit is seen only when the whole request is there. */
    check(half == STATUS_PARSE_MORE || half == whole || half == STATUS_PARSE_LARGE);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const seeds[] = {
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAccept: */*\r\nAuthorization: Bearer abc\r\n\r\n",
        "GET /tap?of=security&where=event.code%20%3D%3D+1&rate=10 HTTP/1.1\r\nHost: [::1]\r\n\r\n",
        "POST / HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

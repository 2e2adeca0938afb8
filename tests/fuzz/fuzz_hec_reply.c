#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/splunk_hec/hec_reply.h"

/* Any bytes as the reply of a collector: only the word true acknowledges, and a success needs the
 * code of success. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_response response;
    struct hec_reply reply;
    http_response_init(&response);
    buf_add(
        &response.body, data, size < HTTP_RESPONSE_KEPT_BYTES ? size : HTTP_RESPONSE_KEPT_BYTES);
    hec_reply_read(&response, &reply);
    for (int status = 100; status < 600; status += 50) {
        enum http_piece_verdict verdict = hec_reply_verdict(&reply, status);
        if ((verdict == HTTP_PIECE_TAKEN) != (status / 100 == 2 && reply.code == HEC_SUCCESS) ||
            !hec_reply_words(&reply, status)[0]) {
            abort();
        }
    }
    bool holds_true = false;
    for (size_t i = 0; i + 4 <= response.body.size; i++) {
        holds_true = holds_true || memcmp(response.body.data + i, "true", 4) == 0;
    }
    if (hec_reply_is_acked(&response, 5) && !holds_true) {
        abort();
    }
    http_response_fini(&response);
    return 0;
}

static const char *const seeds[] = {"{\"text\":\"Success\",\"code\":0,\"ackId\":12}",
    "{\"text\":\"Invalid data format\",\"code\":6,\"invalid-event-number\":3}",
    "{\"acks\":{\"4\":false,\"5\":true,\"6\":\"true\"}}",
    "{\"code\":99999999999999999999,\"ackId\":-1,\"a\":{\"code\":0}}", "<html>true</html>"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

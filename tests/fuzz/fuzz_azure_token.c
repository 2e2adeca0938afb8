#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/http/http_token.h"
#include "outputs/pem.h"

/* Any bytes as a reply with a token: an accepted token can stand in a header, lies within the
 * bytes, and has an end. And any bytes as a PEM file: its content is shorter than its text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text;
    struct buf der;
    uint64_t seconds;
    buf_init(&der, 1 << 20);
    if (pem_read(span_make(data, size), "CERTIFICATE", &der) && der.size > size) {
        abort();
    }
    buf_fini(&der);
    if (http_token_read(span_make(data, size), &text, &seconds)) {
        if (text.data < data || text.data + text.size > data + size || seconds == 0 ||
            seconds > 24 * 60 * 60) {
            abort();
        }
        for (size_t i = 0; i < text.size; i++) {
            if (text.data[i] <= ' ' || text.data[i] >= 0x7f) {
                abort();
            }
        }
    }
    return 0;
}

static const char *const seeds[] = {
    "{\"token_type\":\"Bearer\",\"expires_in\":3599,\"access_token\":\"eyJ0.a-b_c\"}",
    "{\"access_token\":\"x\",\"expires_in\":\"86399\",\"resource\":\"https://monitor.azure.com\"}",
    "x\n-----BEGIN CERTIFICATE-----\r\nQUJD\nREVG\n-----END CERTIFICATE-----\n"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/http/http_fingerprint.h"

/* Any bytes as a user's text, and as a server's certificate. A text that is read as a
 * fingerprint is meant as one. The bytes as a certificate do not fit the fingerprint that they
 * name, nor zeros. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_fingerprint fingerprint = {{0}};
    struct span input = span_make(data, size);
    if (http_fingerprint_read(input, &fingerprint) && !http_fingerprint_is_meant(input)) {
        abort();
    }
    if (http_fingerprint_fits(&fingerprint, input)) {
        abort();
    }
    return 0;
}

static const char *const seeds[] = {
    "b9a10bbe64ee9826abeda6546fc988c8bf798b41957c33d05db736716513dc9c",
    ("BA:D1:79:F6:01:71:97:EF:5D:2A:23:C3:40:9E:19:54:A3:31:01:B7:E4:14:DA:4D:33:EE:F4:18:75:4C:B1:"
     "53"),
    "-----BEGIN CERTIFICATE-----\nMIIBdjCCARugAwIBAgIUQs4=\n-----END CERTIFICATE-----\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

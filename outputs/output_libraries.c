#include "outputs/output_libraries.h"

#include <curl/curl.h>
#ifdef ETWSHIP_KAFKA
#include <librdkafka/rdkafka.h>
#endif
#ifdef ETWSHIP_KAFKA_OPENSSL
#include <openssl/crypto.h>
#endif
#include <stdio.h>
#include <zstd.h>

/* Not every ISA-L has a header with its version, so the build passes it. */
#ifndef ETWSHIP_ISAL
#define ETWSHIP_ISAL NULL
#endif

size_t output_libraries_list(struct output_library ret_libraries[OUTPUT_LIBRARIES_MAX])
{
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    /* The library found at run time may be older than its header; it reports nghttp2 since 7.66. */
    const char *http2 = curl->age >= CURLVERSION_SIXTH ? curl->nghttp2_version : NULL;
#ifdef ETWSHIP_KAFKA
    const char *rdkafka = rd_kafka_version_str();
#else
    const char *rdkafka = NULL;
#endif
#ifdef ETWSHIP_KAFKA_OPENSSL
    const char *openssl = OpenSSL_version(OPENSSL_VERSION_STRING);
#else
    const char *openssl = NULL; /* in other builds libcurl's row for TLS names it */
#endif
    const struct {
        const char *name;
        const char *key;
        const char *version; /* NULL: not part of this build */
    } libraries[OUTPUT_LIBRARIES_MAX] = {
        {"libcurl", "libcurl", curl->version},
        {"TLS", "tls", curl->ssl_version},
        {"nghttp2", "nghttp2", http2},
        {"zstd", "zstd", ZSTD_versionString()},
        {"ISA-L", "isa-l", ETWSHIP_ISAL},
        {"librdkafka", "librdkafka", rdkafka},
        {"OpenSSL", "openssl", openssl},
    };
    size_t count = 0;
    for (size_t i = 0; i < OUTPUT_LIBRARIES_MAX; i++) {
        struct output_library *library = &ret_libraries[count];
        if (libraries[i].version) {
            library->name = libraries[i].name;
            library->key = libraries[i].key;
            snprintf(library->version, sizeof(library->version), "%s", libraries[i].version);
            count++;
        }
    }
    return count;
}

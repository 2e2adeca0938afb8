#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/http/proxy/http_proxy_list.h"

/* The first line is a URL, the rest a proxy list of Windows. A proxy that is found is an address
 * that can be read again, without characters that have a meaning in a URL. A URL that needs no
 * proxy needs none with `*`, too. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t url_size = end ? (size_t)(end - data) : size;
    struct http_origin origin;
    struct http_origin proxy;
    char address[HTTP_PROXY_ADDRESS_BYTES];
    if (!http_origin_read(span_make(data, url_size), &origin)) {
        return 0;
    }
    struct span list = span_from(span_make(data, size), url_size);
    if (http_proxy_list_bypasses(list, &origin) &&
        !http_proxy_list_bypasses(span_text("*"), &origin)) {
        abort();
    }
    http_origin_is_local(&origin);
    for (size_t left = list.size; http_proxy_list_next(&list, &origin, address); left = list.size) {
        bool is_direct = !address[0];
        if (list.size >= left ||
            (is_direct ? list.size != 0
                       : !http_origin_read(span_text(address), &proxy) ||
                             proxy.whole.size != strlen(address) || strpbrk(address, "@?#;= \""))) {
            abort();
        }
    }
    return 0;
}

static const char *const seeds[] = {
    "https://es1.example:9200/x\nhttp=a:80;https=b:3128;socks=c:1080",
    "http://es1\n<local>;*.example.com;10.*;http://h:80",
    "https://[fe80::1]:9200\n[fe80::2]:8080 https://gateway.example/ p",
    "https://e\np:1; DIRECT; q:2",
    "https://e\ne*e*e*e*e*;*:443",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}

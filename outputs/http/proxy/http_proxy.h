#ifndef ETWSHIP_OUTPUTS_HTTP_PROXY_H
#define ETWSHIP_OUTPUTS_HTTP_PROXY_H

#include "outputs/http/proxy/http_system_proxy.h"

/*
 * Finds the proxy of a request, for http_client.c only. A proxy in the configuration applies to
 * every address. Else (`proxy: system`, the default) the environment decides, as libcurl reads it
 * (http_proxy, HTTPS_PROXY, ALL_PROXY, NO_PROXY). If it names none for the scheme, the settings of
 * Windows decide (http_system_proxy.h), except for this machine itself, which is never reached
 * through a proxy.
 *
 * Answers of Windows are kept for a while, of a bounded number of addresses. If an answer names
 * several proxies and a connection to one fails, the next request uses the next one, and after the
 * last the first again. A request uses no proxy only if the answer says so, because a network with
 * proxies may require them. The caller pauses between attempts. One thread at a time.
 */
enum { HTTP_PROXY_KEPT = 16 };

/* Value of an environment variable; NULL: it is not set. */
typedef char *http_proxy_env_fn(const char *name);

struct http_proxy_entry {
    char origin[HTTP_PROXY_ADDRESS_BYTES];
    uint64_t until_ns;
    size_t next;     /* which of the addresses */
    bool all_failed; /* each of them failed, and none was reached since */
    struct http_system_proxy found;
};

struct http_proxy {
    char *fixed; /* as configured; "": none; NULL: system */
    struct plat_winhttp winhttp;
    bool is_loaded;
    http_proxy_env_fn *env;
    struct http_proxy_entry *entries; /* the newest first */
    size_t count;
    void (*note)(void *host, const char *text); /* NULL: not called */
    bool (*stopping)(void *host);               /* as in struct http_client_setup */
    void *host;
};

/* ${fixed}: as configured, copied; NULL and "system": see above. False: out of memory. */
bool http_proxy_init(struct http_proxy *proxy, const char *fixed);
void http_proxy_fini(struct http_proxy *proxy);

/* The proxy for ${url}: an address; "": none; NULL: libcurl finds it by itself. Valid until the
 * next call. ${now_ns}: plat_monotonic_ns. False: `stopping` returned true while Windows
 * searched. */
bool http_proxy_for(
    struct http_proxy *proxy, const char *url, uint64_t now_ns, const char **ret_address);

/* The proxy for ${url} could not be connected to. */
void http_proxy_failed(struct http_proxy *proxy, const char *url);

/* The proxy for ${url} was reached. */
void http_proxy_reached(struct http_proxy *proxy, const char *url);

/* For tests: use these functions and this environment in objects that are made from now on; NULL:
 * those of the system. */
void http_proxy_use(const struct plat_winhttp *winhttp, http_proxy_env_fn *env);

#endif

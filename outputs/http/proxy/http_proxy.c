#include "outputs/http/proxy/http_proxy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)

/* WinHTTP's own threads renew scripts, and it answers from its cache, so a query costs little. If
 * no script can be fetched, a query may take a minute. */
enum { KEPT_S = 300, KEPT_FAILED_S = 600 };

static _Atomic(const struct plat_winhttp *) used_winhttp;
static _Atomic(http_proxy_env_fn *) used_env;

void http_proxy_use(const struct plat_winhttp *winhttp, http_proxy_env_fn *env)
{
    atomic_store(&used_winhttp, winhttp);
    atomic_store(&used_env, env);
}

bool http_proxy_init(struct http_proxy *proxy, const char *fixed)
{
    http_proxy_env_fn *env = atomic_load(&used_env);
    *proxy = (struct http_proxy){.env = env ? env : getenv};
    if (!fixed || strcmp(fixed, "system") == 0) {
        return true;
    }
    proxy->fixed = span_copy(span_text(fixed));
    return proxy->fixed != NULL;
}

void http_proxy_fini(struct http_proxy *proxy)
{
    free(proxy->entries);
    free(proxy->fixed);
    *proxy = (struct http_proxy){.fixed = NULL};
}

/* ---- the environment ------------------------------------------------------------------------- */

/* Environment variables that libcurl uses ("Environment variables"): http_proxy only in lower
 * case. */
static bool is_in_environment(const struct http_proxy *proxy, const struct http_origin *origin)
{
    static const char *const names[] = {
        "http_proxy", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"};
    enum { FOR_HTTP = 1, FOR_ALL = 2 };
    bool is_tls = span_equal_nocase(origin->scheme, span_text("https"));
    size_t first = is_tls ? FOR_HTTP : 0;
    size_t end = is_tls ? sizeof(names) / sizeof(names[0]) : FOR_HTTP + FOR_ALL;
    while (first < end && !proxy->env(names[first])) {
        first++;
    }
    return first < end;
}

/* ---- Windows --------------------------------------------------------------------------------- */

static bool load(struct http_proxy *proxy)
{
    const struct plat_winhttp *used = atomic_load(&used_winhttp);
    if (!proxy->is_loaded && used) {
        proxy->winhttp = *used;
    } else if (!proxy->is_loaded) {
        plat_winhttp_load(&proxy->winhttp);
    }
    proxy->is_loaded = true;
    return proxy->winhttp.open != NULL;
}

static bool is_without(const struct http_proxy_entry *entry)
{
    return !entry->found.count || !entry->found.addresses[entry->next][0];
}

/* Log the proxy. Its address contains no password: http_proxy_list.c accepts only scheme, host and
 * port. */
static void note(const struct http_proxy *proxy, const struct http_proxy_entry *entry)
{
    char text[2 * HTTP_PROXY_ADDRESS_BYTES + 256];
    const char *source = http_system_proxy_source(entry->found.source);
    if (!proxy->note) {
        return;
    }
    if (entry->all_failed) {
        snprintf(text, sizeof(text),
            "none of the proxies that %s names for %s can be connected to. the agent tries them "
            "again from the first on, and does not connect without a proxy",
            source, entry->origin);
    } else if (is_without(entry) && entry->next) {
        snprintf(text, sizeof(text),
            "no proxy for %s, as none of those that %s names before DIRECT can be connected to",
            entry->origin, source);
    } else if (!is_without(entry)) {
        snprintf(text, sizeof(text), "proxy %s for %s, by %s", entry->found.addresses[entry->next],
            entry->origin, source);
    } else if (source) {
        snprintf(text, sizeof(text), "no proxy for %s, by %s", entry->origin, source);
    } else if (entry->found.script_error) {
        snprintf(text, sizeof(text),
            "no proxy for %s: Windows is configured to find one by WPAD or a script (PAC), which "
            "gave no answer (WinHTTP error %u)",
            entry->origin, (unsigned)entry->found.script_error);
    } else {
        snprintf(
            text, sizeof(text), "no proxy for %s: Windows has no setting for one", entry->origin);
    }
    proxy->note(proxy->host, text);
}

static struct http_proxy_entry *find_entry(
    const struct http_proxy *proxy, const struct http_origin *origin)
{
    for (size_t i = 0; i < proxy->count; i++) {
        if (span_equal_nocase(span_text(proxy->entries[i].origin), origin->whole)) {
            return &proxy->entries[i];
        }
    }
    return NULL;
}

/* Add an entry for ${origin} at the front; the oldest one may be dropped for it. NULL: out of
 * memory, or too long. */
static struct http_proxy_entry *add_entry(
    struct http_proxy *proxy, const struct http_origin *origin)
{
    if (!proxy->entries) {
        proxy->entries = calloc(HTTP_PROXY_KEPT, sizeof(*proxy->entries));
    }
    if (!proxy->entries || origin->whole.size >= sizeof(proxy->entries[0].origin)) {
        return NULL;
    }
    proxy->count += proxy->count < HTTP_PROXY_KEPT;
    memmove(proxy->entries + 1, proxy->entries, (proxy->count - 1) * sizeof(*proxy->entries));
    struct http_proxy_entry *entry = &proxy->entries[0];
    *entry = (struct http_proxy_entry){.until_ns = 0};
    memcpy(entry->origin, origin->whole.data, origin->whole.size);
    return entry;
}

static bool is_same(const struct http_system_proxy *a, const struct http_system_proxy *b)
{
    bool same = a->source == b->source && a->count == b->count &&
                a->script_error == b->script_error;
    for (size_t i = 0; i < a->count && same; i++) {
        same = strcmp(a->addresses[i], b->addresses[i]) == 0;
    }
    return same;
}

/* False: `stopping` is true. */
static bool ask(struct http_proxy *proxy, const struct http_origin *origin,
    struct http_proxy_entry *entry, uint64_t now_ns)
{
    const struct http_system_proxy_asker asker = {
        .winhttp = &proxy->winhttp, .stopping = proxy->stopping, .host = proxy->host};
    struct http_system_proxy found;
    if (!http_system_proxy_find(&asker, origin, &found)) {
        return false;
    }
    bool is_other = entry->until_ns == 0 || !is_same(&found, &entry->found);
    bool is_new = is_other || (entry->next && !entry->all_failed);
    entry->found = found;
    entry->next = 0;
    entry->all_failed = entry->all_failed && !is_other;
    entry->until_ns = now_ns + SECOND_NS * (found.script_error ? KEPT_FAILED_S : KEPT_S);
    if (is_new) {
        note(proxy, entry);
    }
    return true;
}

/* NULL: Windows is not asked, and ${*ret_address} is the result. */
static struct http_proxy_entry *entry_for(struct http_proxy *proxy, const char *url,
    struct http_origin *ret_origin, const char **ret_address)
{
    *ret_address = proxy->fixed;
    if (proxy->fixed || !http_origin_read(span_text(url), ret_origin) ||
        is_in_environment(proxy, ret_origin)) {
        return NULL;
    }
    if (http_origin_is_local(ret_origin)) {
        *ret_address = "";
        return NULL;
    }
    if (!load(proxy)) {
        return NULL;
    }
    struct http_proxy_entry *entry = find_entry(proxy, ret_origin);
    return entry ? entry : add_entry(proxy, ret_origin);
}

bool http_proxy_for(
    struct http_proxy *proxy, const char *url, uint64_t now_ns, const char **ret_address)
{
    struct http_origin origin;
    struct http_proxy_entry *entry = entry_for(proxy, url, &origin, ret_address);
    if (!entry) {
        return true;
    }
    if (now_ns >= entry->until_ns && !ask(proxy, &origin, entry, now_ns)) {
        return false;
    }
    *ret_address = is_without(entry) ? "" : entry->found.addresses[entry->next];
    return true;
}

/* Entry of the system's proxy that is used for ${url}; NULL: none. */
static struct http_proxy_entry *entry_in_use(const struct http_proxy *proxy, const char *url)
{
    struct http_origin origin;
    struct http_proxy_entry *entry = !proxy->fixed && http_origin_read(span_text(url), &origin)
                                         ? find_entry(proxy, &origin)
                                         : NULL;
    return entry && !is_without(entry) ? entry : NULL;
}

void http_proxy_failed(struct http_proxy *proxy, const char *url)
{
    struct http_proxy_entry *entry = entry_in_use(proxy, url);
    if (!entry) {
        return;
    }
    bool was_known = entry->all_failed;
    entry->next = (entry->next + 1) % entry->found.count;
    entry->all_failed = was_known || entry->next == 0;
    if (!was_known) {
        note(proxy, entry);
    }
}

void http_proxy_reached(struct http_proxy *proxy, const char *url)
{
    struct http_proxy_entry *entry = entry_in_use(proxy, url);
    if (entry && entry->all_failed) {
        entry->all_failed = false;
        note(proxy, entry);
    }
}

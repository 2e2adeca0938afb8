#include "outputs/http/http_system_proxy.h"

#include <stdlib.h>

#include "base/utf.h"

/* In units. A list that is longer is not read at all; a URL is scheme, host and port. */
enum { TEXT_MAX_UNITS = 16 * 1024, URL_MAX_UNITS = 512 };

const char *http_system_proxy_source(enum http_proxy_source source)
{
    static const char *const words[] = {
        [HTTP_PROXY_OF_MACHINE] = "WinHTTP's settings of the machine",
        [HTTP_PROXY_OF_SCRIPT] = "WPAD or a script (PAC)",
        [HTTP_PROXY_OF_ACCOUNT] = "the proxy settings of the account"};
    return words[source];
}

/* As UTF-8 of ${ret_text}, which the caller frees; empty: there is none, or too much. */
static struct span read_text(const uint16_t *units, uint8_t **ret_text)
{
    size_t count = 0;
    *ret_text = NULL;
    while (units && count < TEXT_MAX_UNITS && units[count]) {
        count++;
    }
    if (count == 0 || count == TEXT_MAX_UNITS) {
        return span_make(NULL, 0);
    }
    *ret_text = malloc(utf16_json_bound(2 * count));
    size_t size = *ret_text ? utf16_to_utf8(span_make(units, 2 * count), *ret_text) : 0;
    return span_make(*ret_text, size);
}

/* Take what ${proxy} and ${bypass} say for ${origin}. False: they name no proxy at all. */
static bool take(const uint16_t *proxy, const uint16_t *bypass, const struct http_origin *origin,
    enum http_proxy_source source, struct http_system_proxy *found)
{
    uint8_t *list_text;
    uint8_t *bypass_text;
    struct span list = read_text(proxy, &list_text);
    struct span exempt = read_text(bypass, &bypass_text);
    bool names_any = list.size != 0;
    if (names_any) {
        found->source = source;
        while (!http_proxy_list_bypasses(exempt, origin) && found->count < HTTP_SYSTEM_PROXY_MAX &&
               http_proxy_list_next(&list, origin, found->addresses[found->count])) {
            found->count++;
        }
    }
    free(list_text);
    free(bypass_text);
    return names_any;
}

static void free_text(const struct plat_winhttp *winhttp, uint16_t *text)
{
    if (text) {
        winhttp->free(text);
    }
}

static bool ask_machine(const struct plat_winhttp *winhttp, const struct http_origin *origin,
    struct http_system_proxy *found)
{
    struct plat_winhttp_named named = {.proxy = NULL};
    if (!winhttp->get_default(&named)) {
        return false;
    }
    bool known = named.access == PLAT_WINHTTP_NAMED_PROXY &&
                 take(named.proxy, named.bypass, origin, HTTP_PROXY_OF_MACHINE, found);
    free_text(winhttp, named.proxy);
    free_text(winhttp, named.bypass);
    return known;
}

/* Scheme, host and port, which are ASCII in a URL that can be asked for. */
static bool write_url(const struct http_origin *origin, uint16_t url[URL_MAX_UNITS])
{
    struct span whole = origin->whole;
    if (whole.size + 2 > URL_MAX_UNITS) {
        return false;
    }
    for (size_t i = 0; i < whole.size; i++) {
        if (whole.data[i] <= ' ' || whole.data[i] >= 0x7f) {
            return false;
        }
        url[i] = whole.data[i];
    }
    url[whole.size] = '/';
    url[whole.size + 1] = 0;
    return true;
}

/* "WinHttpGetProxyForUrl": without logging in first, which answers from a cache. The account logs in only
 * to the server of a script that the settings name: any host of the network can answer a search (WPAD), and
 * could pass on what it is told. */
static bool ask_script(const struct plat_winhttp *winhttp, void *session,
    const struct plat_winhttp_user *user, const struct http_origin *origin,
    struct http_system_proxy *found)
{
    uint16_t url[URL_MAX_UNITS];
    struct plat_winhttp_auto how = {.script = user->script};
    struct plat_winhttp_named named = {.proxy = NULL};
    if (user->detects) {
        how.flags |= PLAT_WINHTTP_DETECT;
        how.detect_flags = PLAT_WINHTTP_DHCP | PLAT_WINHTTP_DNS;
    }
    how.flags |= user->script ? PLAT_WINHTTP_SCRIPT : 0;
    if (!how.flags || !session || !write_url(origin, url)) {
        return false;
    }
    int32_t good = winhttp->get_for_url(session, url, &how, &named);
    if (!good && user->script && winhttp->last_error() == PLAT_WINHTTP_LOGIN_FAILURE) {
        how.flags = PLAT_WINHTTP_SCRIPT;
        how.detect_flags = 0;
        how.logs_in = 1;
        good = winhttp->get_for_url(session, url, &how, &named);
    }
    if (!good) {
        found->script_error = winhttp->last_error();
        return false;
    }
    if (named.access != PLAT_WINHTTP_NAMED_PROXY ||
        !take(named.proxy, named.bypass, origin, HTTP_PROXY_OF_SCRIPT, found)) {
        found->source = HTTP_PROXY_OF_SCRIPT; /* it says: none */
    }
    free_text(winhttp, named.proxy);
    free_text(winhttp, named.bypass);
    return true;
}

void http_system_proxy_find(const struct plat_winhttp *winhttp, void *session,
    const struct http_origin *origin, struct http_system_proxy *ret_found)
{
    struct plat_winhttp_user user = {.script = NULL};
    *ret_found = (struct http_system_proxy){.source = HTTP_PROXY_OF_NOBODY};
    if (ask_machine(winhttp, origin, ret_found) || !winhttp->get_user(&user)) {
        return;
    }
    if (!ask_script(winhttp, session, &user, origin, ret_found)) {
        take(user.proxy, user.bypass, origin, HTTP_PROXY_OF_ACCOUNT, ret_found);
    }
    free_text(winhttp, user.script);
    free_text(winhttp, user.proxy);
    free_text(winhttp, user.bypass);
}

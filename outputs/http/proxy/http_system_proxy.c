#include "outputs/http/proxy/http_system_proxy.h"

#include <stdlib.h>

#include "base/utf.h"
#include "outputs/http/proxy/http_pac.h"

/* In units. A longer list is ignored; a URL contains scheme, host and port. */
enum { TEXT_MAX_UNITS = 16 * 1024, URL_MAX_UNITS = 512 };

const char *http_system_proxy_source(enum http_proxy_source source)
{
    static const char *const words[] = {
        [HTTP_PROXY_OF_MACHINE] = "WinHTTP's settings of the machine",
        [HTTP_PROXY_OF_SCRIPT] = "WPAD or a script (PAC)",
        [HTTP_PROXY_OF_ACCOUNT] = "the proxy settings of the account"};
    return words[source];
}

/* Convert to UTF-8 in ${ret_text}, which the caller frees; empty: missing or too long. */
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

/* Apply ${proxy} and ${bypass} to ${origin}. False: they name no proxy. */
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

/* Scheme, host and port, which are ASCII in a valid URL. */
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

/* True if the script has answered, even with "no proxy". */
static bool take_script(const struct plat_winhttp *winhttp, const struct http_pac_answer *answer,
    const struct http_origin *origin, struct http_system_proxy *found)
{
    const struct plat_winhttp_named *named = &answer->named;
    found->script_error = answer->error;
    if (answer->error) {
        return false;
    }
    if (named->access != PLAT_WINHTTP_NAMED_PROXY ||
        !take(named->proxy, named->bypass, origin, HTTP_PROXY_OF_SCRIPT, found)) {
        found->source = HTTP_PROXY_OF_SCRIPT; /* the script's answer is "no proxy" */
    }
    free_text(winhttp, named->proxy);
    free_text(winhttp, named->bypass);
    return true;
}

static bool ask_account(const struct http_system_proxy_asker *asker,
    const struct plat_winhttp_user *user, const struct http_origin *origin,
    struct http_system_proxy *found)
{
    uint16_t url[URL_MAX_UNITS];
    const struct http_pac_question question = {.winhttp = asker->winhttp,
        .url = url,
        .detects = user->detects != 0,
        .script = user->script,
        .stopping = asker->stopping,
        .host = asker->host};
    struct http_pac_answer answer;
    bool asks = (user->detects || user->script) && write_url(origin, url);
    if (asks && !http_pac_ask(&question, &answer)) {
        return false;
    }
    if (!asks || !take_script(asker->winhttp, &answer, origin, found)) {
        take(user->proxy, user->bypass, origin, HTTP_PROXY_OF_ACCOUNT, found);
    }
    return true;
}

bool http_system_proxy_find(const struct http_system_proxy_asker *asker,
    const struct http_origin *origin, struct http_system_proxy *ret_found)
{
    const struct plat_winhttp *winhttp = asker->winhttp;
    struct plat_winhttp_user user = {.script = NULL};
    *ret_found = (struct http_system_proxy){.source = HTTP_PROXY_NONE};
    if (ask_machine(winhttp, origin, ret_found) || !winhttp->get_user(&user)) {
        return true;
    }
    bool found = ask_account(asker, &user, origin, ret_found);
    free_text(winhttp, user.script);
    free_text(winhttp, user.proxy);
    free_text(winhttp, user.bypass);
    return found;
}

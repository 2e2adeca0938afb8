#ifndef ETWSHIP_OUTPUTS_HTTP_SYSTEM_PROXY_H
#define ETWSHIP_OUTPUTS_HTTP_SYSTEM_PROXY_H

#include "outputs/http/proxy/http_proxy_list.h"
#include "platform/plat_winhttp.h"

/*
 * The proxy of Windows for an address, by WinHTTP. Sources in order; the first with a proxy
 * decides:
 *
 *   1. the settings of the machine (`netsh winhttp set proxy`), which are intended for services;
 *   2. the settings of the account that the agent runs as: WPAD and a script (PAC) if enabled.
 *      Group Policy can apply one account's settings to all accounts. The script's answer is final
 *      even if it is "none";
 *   3. the proxy that these settings name.
 */
enum http_proxy_source {
    HTTP_PROXY_NONE, /* no settings, so no proxy */
    HTTP_PROXY_OF_MACHINE,
    HTTP_PROXY_OF_SCRIPT,
    HTTP_PROXY_OF_ACCOUNT,
};

enum { HTTP_SYSTEM_PROXY_MAX = 8 };

struct http_system_proxy {
    enum http_proxy_source source;
    char addresses[HTTP_SYSTEM_PROXY_MAX]
                  [HTTP_PROXY_ADDRESS_BYTES]; /* in order; empty, or "" as the last: no proxy */
    size_t count;
    uint32_t script_error; /* error of WPAD or the script; 0: unused or successful */
};

struct http_system_proxy_asker {
    const struct plat_winhttp *winhttp;
    bool (*stopping)(void *host); /* as in struct http_client_setup */
    void *host;
};

/* Waits for WPAD or a script if the settings enable one (http_pac.h). False: `stopping` returned
 * true. */
bool http_system_proxy_find(const struct http_system_proxy_asker *asker,
    const struct http_origin *origin, struct http_system_proxy *ret_found);

/* Name of the source for people: "WinHTTP's settings of the machine", …; NULL: there is none. */
const char *http_system_proxy_source(enum http_proxy_source source);

#endif

#ifndef ETWSHIP_OUTPUTS_HTTP_PAC_H
#define ETWSHIP_OUTPUTS_HTTP_PAC_H

#include "platform/plat_winhttp.h"

/*
 * Asks WPAD or a script (PAC) for the proxy of an address, with WinHttpGetProxyForUrl. The call
 * waits for name servers, DHCP and the server of the script. It cannot be cancelled, and the
 * timeouts of the session do not limit all of it. So a separate thread makes the call, and is
 * abandoned when the caller stops waiting.
 */
enum {
    HTTP_PAC_LIMIT_MS = 60000, /* a search that works takes less, by the timeouts of the session */
    HTTP_PAC_LEFT_MAX = 16,    /* maximum number of abandoned threads of this process */
};

struct http_pac_question {
    const struct plat_winhttp *winhttp;
    const uint16_t *url;    /* scheme, host and port */
    bool detects;           /* use WPAD */
    const uint16_t *script; /* the address of a script; NULL: none is named */
    unsigned limit_ms;      /* 0: HTTP_PAC_LIMIT_MS */

    /* As in struct http_client_setup. */
    bool (*stopping)(void *host);
    void *host;
};

struct http_pac_answer {
    uint32_t error; /* 0: there is an answer */
    struct plat_winhttp_named named;
};

/*
 * Ask, and wait for the answer; the caller frees its texts with winhttp->free. False: `stopping`
 * returned true. PLAT_WINHTTP_TIMEOUT is the error at the limit, and also while too many abandoned
 * threads run.
 */
bool http_pac_ask(const struct http_pac_question *question, struct http_pac_answer *ret_answer);

#endif

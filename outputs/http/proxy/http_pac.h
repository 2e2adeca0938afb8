#ifndef ETWSHIP_OUTPUTS_HTTP_PAC_H
#define ETWSHIP_OUTPUTS_HTTP_PAC_H

#include "platform/plat_winhttp.h"

/*
 * Ask WPAD or a script (PAC) for the proxy of an address, by WinHttpGetProxyForUrl. The call waits
 * for name servers, DHCP and the server of the script. It cannot be cancelled, and the timeouts of
 * the session do not bound all of it. So a thread of its own makes the call, and is abandoned when
 * the caller stops waiting.
 */
enum {
    HTTP_PAC_LIMIT_MS = 60000, /* a working search takes less, with the timeouts of the session */
    HTTP_PAC_LEFT_MAX = 16,    /* abandoned threads of this process that still run */
};

struct http_pac_question {
    const struct plat_winhttp *winhttp;
    const uint16_t *url;    /* scheme, host and port */
    bool detects;           /* search by WPAD */
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
 * Ask, and wait for the answer; its texts are to be freed with winhttp->free. False: `stopping` said so.
 * PLAT_WINHTTP_TIMEOUT is the error at the limit, and also while too many threads have not come back.
 */
bool http_pac_ask(const struct http_pac_question *question, struct http_pac_answer *ret_answer);

#endif

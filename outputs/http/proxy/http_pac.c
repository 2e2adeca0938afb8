#include "outputs/http/proxy/http_pac.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

enum { LOOK_MS = 200 }; /* time between two checks of `stopping` */

/* The mutex guards `ended`, `left` and `answer`. An abandoned thread owns the whole search, and
 * frees it if WinHTTP ever returns. */
struct search {
    struct plat_winhttp winhttp;
    struct plat_winhttp_auto how;
    uint16_t *url;
    uint16_t *script;
    struct plat_mutex mutex;
    struct plat_cond ended_now;
    bool ended;
    bool left;
    struct http_pac_answer answer;
};

static atomic_uint left_behind;

/* ---- the thread ------------------------------------------------------------------------------ */

/* As "WinHttpGetProxyForUrl" advises, the first call does not log in, because only such calls use
 * the cache. The account logs in only to the server of a script that the settings name: any host of
 * the network can answer a search (WPAD) and could pass on the credentials. */
static uint32_t look(struct search *search, void *session, struct plat_winhttp_named *named)
{
    const struct plat_winhttp *winhttp = &search->winhttp;
    struct plat_winhttp_auto how = search->how;
    int32_t good = winhttp->get_for_url(session, search->url, &how, named);
    if (!good && how.script && winhttp->last_error() == PLAT_WINHTTP_LOGIN_FAILURE) {
        how = (struct plat_winhttp_auto){
            .flags = PLAT_WINHTTP_SCRIPT, .script = how.script, .logs_in = 1};
        good = winhttp->get_for_url(session, search->url, &how, named);
    }
    return good ? 0 : winhttp->last_error();
}

/* Each search has its own session, because no other thread may close a session in use. The service
 * of WinHTTP caches scripts for the whole machine ("AutoProxy Cache"). */
static void ask(struct search *search, struct http_pac_answer *ret_answer)
{
    enum { NAME_MS = 5000, CONNECT_MS = 5000, SEND_MS = 5000, RECEIVE_MS = 10000 };
    static const uint16_t agent[] = {'e', 't', 'w', 's', 'h', 'i', 'p', 0};
    const struct plat_winhttp *winhttp = &search->winhttp;
    void *session = winhttp->open(agent, PLAT_WINHTTP_NO_PROXY, NULL, NULL, 0);
    if (!session) {
        ret_answer->error = winhttp->last_error();
        return;
    }
    winhttp->set_timeouts(session, NAME_MS, CONNECT_MS, SEND_MS, RECEIVE_MS);
    ret_answer->error = look(search, session, &ret_answer->named);
    winhttp->close(session);
}

static void free_search(struct search *search)
{
    plat_cond_fini(&search->ended_now);
    plat_mutex_fini(&search->mutex);
    free(search->url);
    free(search->script);
    free(search);
}

static void free_answer(const struct search *search, const struct http_pac_answer *answer)
{
    uint16_t *const texts[] = {answer->named.proxy, answer->named.bypass};
    for (size_t i = 0; i < 2; i++) {
        if (texts[i]) {
            search->winhttp.free(texts[i]);
        }
    }
}

static void run(void *self)
{
    struct search *search = self;
    struct http_pac_answer answer = {.error = 0};
    ask(search, &answer);
    plat_mutex_lock(&search->mutex);
    search->answer = answer;
    search->ended = true;
    bool left = search->left;
    plat_cond_signal(&search->ended_now);
    plat_mutex_unlock(&search->mutex);
    if (left) {
        free_answer(search, &answer);
        free_search(search);
        atomic_fetch_sub(&left_behind, 1);
    }
}

/* ---- the waiting thread ---------------------------------------------------------------------- */

/* False: out of memory. NULL stays NULL. */
static bool copy(const uint16_t *text, uint16_t **ret_copy)
{
    size_t units = 0;
    *ret_copy = NULL;
    if (!text) {
        return true;
    }
    do {
        units++;
    } while (text[units - 1]);
    *ret_copy = malloc(units * sizeof(*text));
    if (*ret_copy) {
        memcpy(*ret_copy, text, units * sizeof(*text));
    }
    return *ret_copy != NULL;
}

static struct search *make(const struct http_pac_question *question)
{
    struct search *search = calloc(1, sizeof(*search));
    if (!search) {
        return NULL;
    }
    plat_mutex_init(&search->mutex);
    plat_cond_init(&search->ended_now);
    search->winhttp = *question->winhttp;
    if (!copy(question->url, &search->url) || !copy(question->script, &search->script)) {
        free_search(search);
        return NULL;
    }
    search->how.script = search->script;
    search->how.flags = search->script ? PLAT_WINHTTP_SCRIPT : 0;
    if (question->detects) {
        search->how.flags |= PLAT_WINHTTP_DETECT;
        search->how.detect_flags = PLAT_WINHTTP_DHCP | PLAT_WINHTTP_DNS;
    }
    return search;
}

/* Wait until the search has ended, at most for its time limit. ${*ret_stops}: `stopping` is
 * true. */
static bool wait(struct search *search, const struct http_pac_question *question, bool *ret_stops)
{
    const uint64_t limit_ms = question->limit_ms ? question->limit_ms : HTTP_PAC_LIMIT_MS;
    const uint64_t end_ns = plat_monotonic_ns() + limit_ms * UINT64_C(1000000);
    bool in_time = true;
    *ret_stops = false;
    plat_mutex_lock(&search->mutex);
    while (!search->ended && in_time && !*ret_stops) {
        uint64_t now_ns = plat_monotonic_ns();
        uint64_t look_ns = now_ns + LOOK_MS * UINT64_C(1000000);
        plat_cond_wait_until(
            &search->ended_now, &search->mutex, look_ns < end_ns ? look_ns : end_ns);
        in_time = now_ns < end_ns;
        *ret_stops = !search->ended && question->stopping && question->stopping(question->host);
    }
    bool ended = search->ended;
    search->left = !ended;
    if (!ended) {
        atomic_fetch_add(&left_behind, 1);
    }
    plat_mutex_unlock(&search->mutex);
    return ended;
}

bool http_pac_ask(const struct http_pac_question *question, struct http_pac_answer *ret_answer)
{
    *ret_answer = (struct http_pac_answer){.error = PLAT_WINHTTP_TIMEOUT};
    if (atomic_load(&left_behind) >= HTTP_PAC_LEFT_MAX) {
        return true;
    }
    struct search *search = make(question);
    struct plat_thread *thread = search ? plat_thread_start("proxy", run, search, NULL) : NULL;
    if (!thread) {
        if (search) {
            free_search(search);
        }
        ret_answer->error = PLAT_WINHTTP_NO_MEMORY;
        return true;
    }
    bool stops;
    if (!wait(search, question, &stops)) {
        plat_thread_detach(thread); /* from now on the search belongs to the thread */
        return !stops;
    }
    plat_thread_join(thread);
    *ret_answer = search->answer;
    free_search(search);
    return true;
}

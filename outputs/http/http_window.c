#include "outputs/http/http_window.h"

void http_window_start(struct http_window *window)
{
    window->records = SIZE_MAX;
}

uint64_t http_window_limit(const struct http_window *window)
{
    uint64_t half = window->refused_bytes / 2;
    return !window->refused_bytes          ? UINT64_MAX
           : window->accepted_bytes > half ? window->accepted_bytes
                                           : half;
}

void http_window_taken(struct http_window *window, uint64_t bytes)
{
    window->lost = 0;
    window->records = window->records > SIZE_MAX / 2 ? SIZE_MAX : window->records * 2;
    if (window->refused_bytes && bytes > window->accepted_bytes) {
        window->accepted_bytes = bytes;
    }
    if (window->refused_bytes && ++window->taken == HTTP_WINDOW_TAKEN) {
        uint64_t limit = http_window_limit(window);
        window->refused_bytes = limit < UINT64_MAX / 4 ? limit * 4 : UINT64_MAX;
        window->taken = 0;
    }
    if (window->refused_bytes && window->accepted_bytes >= window->refused_bytes) {
        window->refused_bytes = 0; /* the server now accepts more */
        window->accepted_bytes = 0;
    }
}

bool http_window_too_big(struct http_window *window, size_t count, uint64_t bytes)
{
    window->taken = 0;
    window->lost = 0;
    if (count <= 1) {
        return false;
    }
    if (!window->refused_bytes || bytes < window->refused_bytes) {
        window->refused_bytes = bytes;
    }
    if (window->accepted_bytes >= window->refused_bytes) {
        window->accepted_bytes = 0; /* the server now accepts less */
    }
    return true;
}

void http_window_lost(struct http_window *window, size_t count, uint64_t bytes)
{
    if (++window->lost >= HTTP_WINDOW_LOST) {
        http_window_too_big(window, count, bytes);
    }
}

void http_window_refused(struct http_window *window, size_t count)
{
    window->records = count <= 1 ? 1 : count / 2;
}

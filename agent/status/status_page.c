#include "status/status_page.h"

static const uint8_t bytes[] = {
#include "page.def"
};

struct span status_page(void)
{
    return span_make(bytes, sizeof(bytes));
}

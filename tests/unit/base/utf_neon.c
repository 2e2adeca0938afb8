/* The program that neon.sh runs: the engines of its machine against the scalar one. */
#include <stdio.h>

#include "base/utf.h"
#include "support/utf_check.h"

int main(void)
{
    char text[1024];
    printf("default engine: %s\n", utf_engine());
    size_t checked = 0;
    for (size_t i = 0; i < utf_check_engine_count; i++) {
        const char *engine = utf_check_engines[i];
        if (!utf_set_engine(engine)) {
            continue;
        }
        if (!utf_check_every_unit(engine, text, sizeof(text)) ||
            !utf_check_random(engine, 40000, text, sizeof(text))) {
            printf("%s\n", text);
            return 1;
        }
        printf("%s: agrees with scalar\n", engine);
        checked++;
    }
    return checked ? 0 : 1;
}

#include "cli/service/left_flags.h"

#include <stdio.h>

#include "cli/options/cli.h"
#include "etw/etw_hold.h"
#include "etw/etw_image_flags.h"

static bool is_abandoned(void *self, const char *session)
{
    (void)self;
    return !etw_hold_is_held(session);
}

static void tell(void *self, const char *image, const struct error *err)
{
    (void)self;
    if (err) {
        cli_warning(
            "%s. every %s is still traced. remove its value TracingFlags", err->text, image);
    } else {
        printf("restored TracingFlags of %s, left by a killed agent\n", image);
    }
}

void left_flags_put_back(void)
{
    etw_image_flags_clean(is_abandoned, tell, NULL);
}

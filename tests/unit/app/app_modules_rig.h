#ifndef ETWSHIP_TESTS_UNIT_APP_APP_MODULES_RIG_H
#define ETWSHIP_TESTS_UNIT_APP_APP_MODULES_RIG_H

#include "app/config/app_modules.h"

#include <stdio.h>

#include "support/test.h"

/* The tables of the real modules: the values that they accept, and those that their checks
 * refuse. */

static inline bool parse(
    const char *sessions, const char *rest, struct app_config *config, struct config_report *report)
{
    char text[4096];
    snprintf(text, sizeof(text), "sessions:\n%s\n%s", sessions, rest);
    config_report_init(report);
    return app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, config, report);
}

/* The first line of the errors; "": there are none. */
static inline void assert_first(const char *sessions, const char *rest, const char *expected)
{
    struct app_config config;
    struct config_report report;
    bool good = parse(sessions, rest, &config, &report);
    const char *got = report.line_count ? report.lines[0].text : "";
    if (strcmp(got, expected) != 0) {
        print_error("%s\n%s\ngot:\n%s\nexpected:\n%s\n", sessions, rest, got, expected);
        fail();
    }
    if (good) {
        app_config_fini(&config);
    }
    config_report_fini(&report);
}

#define STDOUT "outputs: [{type: stdout}]"
#define ONE_FILE "- {type: file, paths: [a]}"

#endif

#ifndef ETWSHIP_TESTS_SUPPORT_OVERFLOW_MODEL_H
#define ETWSHIP_TESTS_SUPPORT_OVERFLOW_MODEL_H

#include "event/model/event_overflow.h"

/*
 * Is ${after} what event_overflow_apply has to make of ${before}? Every value is there, in its
 * place, and whole: there or in `overflow`; no string is longer than it may be, no name either, and
 * nothing was cut that was not too long. Shares nothing with the code it judges. NULL if all is
 * well, or if ${before} is no JSON object of valid UTF-8 or has a member `overflow`; else what is
 * wrong.
 */
const char *overflow_model_check(
    struct span before, struct span after, const struct event_overflow_limits *limits);

#endif

#ifndef ETWSHIP_TESTS_UNIT_EVENT_FORMAT_ECS_RIG_H
#define ETWSHIP_TESTS_UNIT_EVENT_FORMAT_ECS_RIG_H

/* The ends of the fixture's lines, with a host and without. */
#define HOST ",\"host\":{\"os\":{\"type\":\"windows\"}}"
#define STREAM                                                                      \
    ",\"data_stream\":{\"type\":\"logs\",\"dataset\":\"etw.events\",\"namespace\":" \
    "\"default\"},\"ecs\":{\"version\":\"8.17.0\"}"
#define END HOST STREAM "}"

#endif

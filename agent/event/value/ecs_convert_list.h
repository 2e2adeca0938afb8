#ifndef ETWSHIP_EVENT_ECS_CONVERT_LIST_H
#define ETWSHIP_EVENT_ECS_CONVERT_LIST_H

#include "event/value/ecs_sink.h"

/* Texts that become lists. False: there is nothing in them. */

enum ecs_list_results { ECS_LIST_ANSWERS, ECS_LIST_ADDRESSES, ECS_LIST_NAMES };

/* Results of the DNS client: each ends with a semicolon;
 * one that is no address begins with its type. */
bool ecs_convert_list_results(struct span text, enum ecs_list_results which, struct ecs_sink *sink);

/* The arguments of a command line as strings, as CommandLineToArgvW splits it (learn.microsoft.com,
 * "Parsing C command-line arguments"). ${sink} NULL: only their number is wanted. */
uint32_t ecs_convert_list_args(struct span text, struct ecs_sink *sink);

/* Lines `type(command): value` as objects; of `ParameterBinding` lines the value is
 * `name=…; value=…`. Lines of another form are a value alone. */
bool ecs_convert_list_details(struct span text, struct ecs_sink *sink);

#endif

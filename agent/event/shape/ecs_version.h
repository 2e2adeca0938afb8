#ifndef ETWSHIP_EVENT_ECS_VERSION_H
#define ETWSHIP_EVENT_ECS_VERSION_H

/* The version of the Elastic Common Schema whose fields events and
 * lines of the agent's log have. */
#define ECS_VERSION "8.17.0"

#endif

#ifndef ETWSHIP_SERVICE_WINDOWS_SERVICE_OWN_H
#define ETWSHIP_SERVICE_WINDOWS_SERVICE_OWN_H

#include "service/service_api.h"

/* The parts of the table for Windows; service_api.h documents the functions. */

/* service_manager.c: services from outside. */
void service_manager_load(struct service_api *api);

/* service_process.c: this process as a service, and its events. */
void service_process_load(struct service_api *api);

/* service_group.c */
uint32_t service_group_set_log_user(const char *account, bool member);

#endif

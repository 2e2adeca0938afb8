#ifndef ETWSHIP_TESTS_SUPPORT_EVTX_SAMPLE_H
#define ETWSHIP_TESTS_SUPPORT_EVTX_SAMPLE_H

#include "support/evtx_put.h"

/* Records in the form that Windows writes for providers, for tests. */
enum evtx_sample_template {
    EVTX_SAMPLE_LOGON = 1,  /* EventData with names */
    EVTX_SAMPLE_USER = 2,   /* UserData */
    EVTX_SAMPLE_PLAIN = 3,  /* EventData without names, Binary */
    EVTX_SAMPLE_NESTED = 4, /* the System of LOGON, and a value that is the rest */
};

#define EVTX_SAMPLE_TIME UINT64_C(134084814000000000) /* 2025-11-24T18:10:00Z */

/* A record of template LOGON with the number ${id}, of the machine ${computer}: TargetUserName is
 * ${user}, LogonType 3, Addresses a list of two texts. */
void evtx_sample_logon(
    struct evtx_put *put, uint64_t id, uint64_t time, const char *computer, const char *user);

/* <UserData><Job xmlns=…  id="7">…<p:Step>…</p:Step><Step>…</Step></Job></UserData> */
void evtx_sample_user(struct evtx_put *put, uint64_t id, uint64_t time);

/* A classic event: <EventID Qualifiers="16384">7036</EventID>, a list of texts as Data, Binary. */
void evtx_sample_plain(struct evtx_put *put, uint64_t id, uint64_t time);

/* Its EventData is a value that is binary XML with a template of its own. */
void evtx_sample_nested(struct evtx_put *put, uint64_t id, uint64_t time);

/* XML without a template, as in forwarded records: everything is text. */
void evtx_sample_forwarded(struct evtx_put *put, uint64_t id, uint64_t time);

#endif

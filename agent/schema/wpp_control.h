#ifndef ETWSHIP_SCHEMA_WPP_CONTROL_H
#define ETWSHIP_SCHEMA_WPP_CONTROL_H

#include "base/arena.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"

/*
 * What a WPP or classic provider is switched on with: its control GUID, and the flags that its messages
 * are grouped by, each of them a bit (WPP_DEFINE_CONTROL_GUID, "WPP Preprocessor" on learn.microsoft.com).
 * Files say it in three forms: MOF text as tracepdb writes it today (mof_control.h), trace message
 * control files as it wrote them before (tmc.h), and the annotations of a PDB, which both come from.
 */
enum { WPP_MAX_CONTROLS = 4096, WPP_MAX_FLAGS = 64, WPP_MAX_CONTROL_FILES = 4096 };

struct wpp_flag {
    struct span name;
    uint64_t bits;
};

struct wpp_control {
    struct wpp_control *next;
    struct guid guid;
    struct span name;                         /* what the file calls it; may be empty */
    struct wpp_flag flags[WPP_MAX_FLAGS * 2]; /* one bit may have two names */
    size_t flag_count;
};

struct wpp_controls {
    struct arena arena; /* all of it lives here */
    struct map guids;   /* to struct wpp_control */
    struct wpp_control *first;
    struct wpp_control *last;
    size_t count;
    size_t max_files; /* of a folder that are read; WPP_MAX_CONTROL_FILES at first */
    void (*warn)(void *self, const char *text); /* may be NULL */
    void *warn_self;
};

void wpp_controls_init(struct wpp_controls *controls);
void wpp_controls_fini(struct wpp_controls *controls);

/* One for ${guid}: that which is there, or a new one. NULL: memory, or room, ran out. The name is copied. */
struct wpp_control *wpp_controls_add(
    struct wpp_controls *controls, const struct guid *guid, struct span name);

/* Give ${control} a flag, unless it has it. False if memory ran out; what is too much is left out. */
bool wpp_controls_add_flag(
    struct wpp_controls *controls, struct wpp_control *control, struct span name, uint64_t bits);

/* The flag called so, without regard to case; NULL: there is none. */
const struct wpp_flag *wpp_control_flag(const struct wpp_control *control, struct span name);

/*
 * Read what ${path} says: a .mof, .tmc or .pdb file; all of them below a folder; those beside a .tmf file, which
 * itself says nothing of them. A file that cannot be read is a warning; false with ${err} set if it is
 * the one that was named.
 */
bool wpp_controls_read(struct wpp_controls *controls, const char *path, struct error *err);

#endif

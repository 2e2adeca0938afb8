#ifndef ETWSHIP_EVENT_ECS_MAP_PLAN_H
#define ETWSHIP_EVENT_ECS_MAP_PLAN_H

#include "event/write/ecs_map.h"
#include "event/write/event_path.h"

/* The plan that ecs_map_plan.c makes from the tables and ecs_map.c executes. */

enum { ECS_MAP_DEPTH = 4, ECS_MAP_KEY = 80, ECS_MAP_MAX_MEMBERS = 128 };

enum ecs_map_origin {
    ECS_MAP_CONSTANT,
    ECS_MAP_FIELD,    /* of the payload */
    ECS_MAP_KEYWORDS, /* of the header */
    ECS_MAP_SID,      /* of the header: the user that wrote the event */
    /* Known facts of a process (event_process.h): */
    ECS_MAP_ABOUT,   /* of the process that the event describes, its own or another */
    ECS_MAP_CREATOR, /* of its own process, if the event is the start of another one by it */
    /* Known facts of a file (event_file.h): */
    ECS_MAP_USED, /* of the file that the event uses */
};

/* Members of the ecs event from event_process.h and event_file.h. */
struct ecs_map_known {
    const char *field;
    enum ecs_map_origin origin;
    struct event_path path;
    enum ecs_conversion conversion;
};
enum { ECS_MAP_KNOWN = 19 };
extern const struct ecs_map_known ecs_map_known[ECS_MAP_KNOWN];

/* One member of the ecs event, from one source. Several adjacent ones may have one field: elements
 * of a list, or alternatives, of which the first with a value counts. */
struct ecs_map_member {
    const char *field;     /* `source.ip`, of the table */
    char key[ECS_MAP_KEY]; /* `"source":{"ip":`, from the object of the group on, no NUL */
    uint8_t key_size;
    uint8_t at[ECS_MAP_DEPTH]; /* where its parts begin */
    uint8_t depth;             /* how many of them are objects */
    uint8_t shared;            /* objects shared with the previous member */
    bool is_list;
    bool is_image;      /* process.executable */
    bool is_path;       /* file.path and its parts */
    uint16_t number;    /* equal for members of one field in a plan */
    uint8_t group;      /* enum ecs_map_group */
    uint8_t origin;     /* enum ecs_map_origin */
    uint8_t conversion; /* enum ecs_conversion */
    uint16_t property;  /* index in event_schema.fields, or in ecs_map_known */
    uint32_t goes_with; /* fields of the process: event_edits.process_removed */
    struct span constant;
    struct span parameter;
    struct span within; /* the value is that of the line `${within} = …` in the source */
};

struct ecs_plan {
    uint16_t first[ECS_MAP_GROUPS + 1]; /* members of a group: [first[g], first[g + 1]) */
    uint16_t process;                   /* first member of process.pid */
    uint16_t process_count;
    uint16_t parent; /* first member of process.parent.pid, of process starts */
    uint16_t parent_count;
    bool has_thread; /* process.thread.id is mapped */
    struct ecs_map_member members[];
};

#endif

#include "pipeline/work/edit_stage.h"

bool edit_stage_init(struct edit_stage *stage, struct error *err)
{
    stage->all = event_editor_create(err);
    stage->one = stage->all ? event_editor_create(err) : NULL;
    return stage->one != NULL;
}

void edit_stage_fini(struct edit_stage *stage)
{
    event_editor_destroy(stage->all);
    event_editor_destroy(stage->one);
}

static bool edits(const struct gate_view *view)
{
    return view->gate && view->gate->filter && filter_has_edits(view->gate->filter);
}

bool edit_stage_is_needed(const struct worker_session *session, const struct gate_view *gates,
    const struct gate_view *stream_gates)
{
    bool needed = session->rules.edits != NULL;
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        needed = needed || edits(&gates[i]);
    }
    for (size_t i = 0; i < session->stream_count; i++) {
        needed = needed || edits(&stream_gates[i]);
    }
    return needed;
}

const struct event *edit_stage_begin(struct edit_stage *stage, const struct worker_session *session,
    struct gate_view *gates, struct filter_scratch *scratch, const struct event *event)
{
    event_editor_begin(stage->all, event, scratch->paths.agent);
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        if (edits(&gates[i])) {
            gate_edit(&gates[i], scratch, event, stage->all);
        }
    }
    if (session->rules.edits) {
        session->rules.edits(session->rules.selection, scratch, event, stage->all);
    }
    return event_editor_finish(stage->all, &scratch->paths);
}

const struct event *edit_stage_stream(struct edit_stage *stage, struct gate_view *view,
    struct filter_scratch *scratch, const struct event *event, const struct event *edited)
{
    if (!edits(view)) {
        return edited;
    }
    event_editor_begin_from(stage->one, stage->all);
    gate_edit(view, scratch, event, stage->one);
    return event_editor_finish(stage->one, &scratch->paths);
}

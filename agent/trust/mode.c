#include "trust/mode.h"

enum { ROOT = 0, STICKY = 01000, GROUP_WRITES = 020, OTHERS_WRITE = 02 };

static unsigned harm_of(const struct mode_facts *facts, enum trust_use use)
{
    bool passes = use == TRUST_WAY || use == TRUST_ROOT;
    if (!facts->is_folder) {
        return TRUST_HARM_WRITE | TRUST_HARM_APPEND;
    }
    unsigned harm = passes ? 0 : TRUST_HARM_WRITE | TRUST_HARM_APPEND;
    return harm | (facts->bits & STICKY ? 0 : TRUST_HARM_DELETE_CHILD);
}

void mode_judge(const struct mode_facts *facts, enum trust_use use, uint32_t own,
    struct trust_verdict *ret_verdict)
{
    struct trust_verdict verdict = {.party = TRUST_NONE};
    unsigned harm = harm_of(facts, use);
    if (facts->owner != ROOT && facts->owner != own) {
        verdict = (struct trust_verdict){
            .party = TRUST_USER, .harms = TRUST_HARM_OWNS, .id = facts->owner};
    } else if (facts->is_link || !harm) {
        /* The mode bits of a link are not used. */
    } else if (facts->bits & OTHERS_WRITE) {
        verdict = (struct trust_verdict){.party = TRUST_ALL, .harms = harm};
    } else if (facts->bits & GROUP_WRITES) {
        verdict = (struct trust_verdict){.party = TRUST_GROUP, .harms = harm, .id = facts->group};
    }
    *ret_verdict = verdict;
}

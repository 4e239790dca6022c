/* Records of the API. */
#include "common/event_table.h"
#include "preload/api/api.h"
#include "preload/record/session.h"

struct cap_record api_record(const struct record_call *call, enum cap_type type)
{
    return (struct cap_record){.begin = call->begin,
                               .span = call->thread->span,
                               .type = (uint8_t)type,
                               .slots = 1,
                               .device = CAP_NO_DEVICE};
}

int api_write(struct record_call *call, struct cap_record *record, const struct record_words *lists,
              size_t count)
{
    return record_write(call->thread, record, lists, count) ? CGTRACE_OK : CGTRACE_LOST;
}

int api_put(struct record_call *call, struct cap_record *record, const struct record_words *lists,
            size_t count)
{
    return api_leave(call, api_write(call, record, lists, count));
}

_Static_assert((int)CGTRACE_CATEGORY_PARAMETER == 1 + (int)CG_CATEGORY_PARAMETER &&
                   (int)CGTRACE_CATEGORY_OTHER == 1 + (int)CG_CATEGORY_OTHER,
               "categories as in the event table");

uint16_t api_category(const struct record_call *call, enum cgtrace_category category, int requires_grad)
{
    if (category != CGTRACE_CATEGORY_FROM_STEP) return (uint16_t)(category - 1);
    /* doc/spec/trace.md 13.4. */
    switch (call->thread->step >> 4) {
    case 1 + CG_STEP_FORWARD:
        return CG_CATEGORY_ACTIVATION;
    case 1 + CG_STEP_BACKWARD:
        return CG_CATEGORY_GRADIENT;
    case 1 + CG_STEP_OPTIMIZER:
        return CG_CATEGORY_OPTIMIZER;
    default:
        return requires_grad ? CG_CATEGORY_PARAMETER : CG_CATEGORY_ACTIVATION;
    }
}

uint64_t api_now(const struct record_call *call)
{
    session_wait_for_rate();
    return cap_ns(&session.header->clock, call->begin);
}

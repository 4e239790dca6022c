#include "analyzer/convert/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/planes/array.h"

bool model_init(struct model *model, struct convert_report *report)
{
    *model = (struct model){.strings = strings_new(), .epoch_ns = -1, .resolution_ns = 1, .report = report};
    return model->strings != NULL;
}

void model_free(struct model *model)
{
    strings_free(model->strings);
    free(model->spans);
    free(model->calls);
    free(model->intervals);
    free(model->storages);
    free(model->samples);
    free(model->frames);
    free(model->stacks);
    free(model->threads);
    *model = (struct model){0};
}

cg_str model_string(struct model *model, const char *bytes, size_t length)
{
    return strings_intern(model->strings, strings_hash(bytes, length), bytes, length);
}

struct cg_text model_text(const struct model *model, cg_str string)
{
    return string == CG_ABSENT ? (struct cg_text){"", 0} : strings_text(model->strings, string);
}

cg_str model_device(struct model *model, const char *kind, uint64_t number)
{
    char name[64];
    int length = snprintf(name, sizeof name, "%s:%" PRIu64, kind, number);
    return model_string(model, name, (size_t)length);
}

#define MODEL_ADD(type, list)                                                                                \
    bool model_add_##type(struct model *model, struct model_##type type)                                     \
    {                                                                                                        \
        if (!array_room(&model->list, model->type##_count, &model->type##_room, sizeof *model->list))        \
            return false;                                                                                    \
        model->list[model->type##_count++] = type;                                                           \
        return true;                                                                                         \
    }
MODEL_ADD(span, spans)
MODEL_ADD(call, calls)
MODEL_ADD(interval, intervals)
MODEL_ADD(storage, storages)
MODEL_ADD(sample, samples)

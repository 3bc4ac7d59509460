/* Steps: functions for creates, updates and deletions alike. */
#include "runtimes/kubernetes/change/step.h"

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/object.h"

struct kube_step *kube_step_new(struct runtime_session *session, enum plan_action action,
                                const struct runtime_target *target)
{
    struct kube_step *step = NEW(struct kube_step);

    *step = (struct kube_step){
        .base = {.ops = session->runtime->base.ops,
                 .action = action,
                 .place = session->place,
                 .cannot_create_first = true, /* two objects cannot have one name */
                 .attributes = kube_object_mark(target->attributes),
                 .extensions = value_ref(target->extensions)},
        .session = session_ref(session),
        .identity = value_ref(target_identity(target)),
    };
    return step;
}

void kube_step_see(struct kube_step *step, const struct observation *seen)
{
    const struct kube_detail *detail = kube_detail_of(seen);

    step->uid = str_new(seen->uid);
    step->fields_digest = str_new(seen->fields_digest);
    step->terminating = seen->terminating;
    step->version = str_new(detail ? detail->version : NULL);
    step->owner = detail ? detail->owner : OWNER_NONE;
    step->base.uid = step->uid;
}

static char *digest_content(const struct observation *seen)
{
    _cleanup_value_ const struct value *content = kube_object_project(seen->result);
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    json_write(&text, content, JSON_CANONICAL);
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

void kube_step_see_content(struct kube_step *step, const struct observation *seen)
{
    free(step->content_digest);
    step->content_digest = digest_content(seen);
}

static bool has_content_of(const struct kube_step *step, const struct observation *now)
{
    _cleanup_free_ char *digest = step->content_digest ? digest_content(now) : NULL;

    return str_equal(digest, step->content_digest);
}

bool kube_step_is_current(const struct kube_step *step, const struct observation *now)
{
    const struct kube_detail *detail = kube_detail_of(now);

    return detail && !now->terminating && detail->owner == step->owner &&
           str_equal(now->uid, step->uid) && str_equal(now->fields_digest, step->fields_digest) &&
           has_content_of(step, now);
}

/* Bytes of the value as JSON, about; counted up to a small answer's. */
static size_t weight_of(const struct value *value)
{
    size_t length = 0, bytes = 4;

    if (value_string_n(value, &length))
        return length + 3;
    for (size_t i = 0; i < value_count(value) && bytes <= RUNTIME_SMALL_ANSWER; i++) {
        const char *key = value_member_key(value, i, &length);

        bytes += weight_of(value_child(value, i)) + (key ? length + 4 : 1);
    }
    return bytes;
}

void kube_step_weigh(struct runtime_step *base, const struct runtime_call *call)
{
    struct kube_step *step = (struct kube_step *)base;

    step->is_large = (call->large && call->large->is_taken) ||
                     weight_of(base->attributes) > RUNTIME_SMALL_ANSWER / 2;
}

void kube_step_free(struct runtime_step *base)
{
    struct kube_step *step = (struct kube_step *)base;

    if (!step)
        return;
    runtime_step_done(base);
    value_unref(step->identity);
    value_unref(step->fields);
    value_unref(step->initial);
    free(step->uid);
    free(step->reason);
    free(step->version);
    free(step->fields_digest);
    free(step->content_digest);
    free(step->after_digest);
    session_unref(step->session);
    free(step);
}

/*
 * What references of Terraform resources to others lead to: its type, by the schemas of those that
 * a session has planned. What a resource refers to is planned before it. So the type of a value is
 * known before the value is.
 *
 * Thread-safe, but for init and done.
 */
#pragma once

#include <pthread.h>

#include "engine/base/strmap.h"
#include "runtimes/terraform/schema/schema.h"

struct referred {
    pthread_mutex_t lock;
    struct strmap schemas; /* id -> struct tf_schema; the first one that it was planned with */
};

void referred_init(struct referred *referred);
void referred_done(struct referred *referred);

/* The resource is planned with this schema. */
void referred_note(struct referred *referred, const char *id, struct tf_schema *schema);

/* The type of what a reference leads to. NULL: it is not known, or something in it is of any type.
 * It lives as long as `referred`, which is the arg, so that this is a tf_typing.find(). */
const struct tf_type *referred_find(void *referred, const char *reference);

/*
 * A reference to what can never become the argument is wrong also while there is no value to tell
 * by: it is null, or not known yet. written: the attributes with their references; attributes: the
 * same, resolved. path: theirs; the error's message begins with the place. ERR_INVALID
 * InvalidAttribute.
 */
int referred_check(struct referred *referred, const struct tf_block *block,
                   const struct value *written, const struct value *attributes, struct path *path,
                   struct error *error);

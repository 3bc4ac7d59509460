/*
 * The address of a resource's object in Terraform's state:
 *
 *   random_password.db    random_password.db[0]    module.a["x"].module.b.random_password.db["k"]
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

#define STATE_ADDRESS "kusionstack.io/state-address" /* an extension of a resource */

struct tf_address {
    char *module;            /* "module.a[\"x\"].module.b", as it is written; NULL: the root */
    char *type, *name;
    const struct value *key; /* of count (a number) or for_each (a string); NULL: none */
};

/* ERR_INVALID InvalidAddress. *ret: tf_address_done(). */
int tf_address_read(const char *text, struct tf_address *ret, struct error *error);
/* The address of a resource: what its extension says, or the type and the name that its id has, in
 * the root module. ERR_INVALID: the id has no name that Terraform allows. */
int tf_address_of(const char *id, const struct value *extensions, struct tf_address *ret,
                  struct error *error);
void tf_address_done(struct tf_address *address); /* accepts one that is all zeroes */

bool tf_address_equal(const struct tf_address *a, const struct tf_address *b);

/* free(). The second without the keys, which is what dependencies name. */
char *tf_address_text(const struct tf_address *address);
char *tf_address_config(const struct tf_address *address);

/*
 * A write of the Spec itself, on a thread of its own. A large Spec takes the
 * API server long to write, however little of it changes; most of a reconcile
 * need not wait for that.
 */
#ifndef CONTROLLER_RECONCILE_WRITE_H
#define CONTROLLER_RECONCILE_WRITE_H

#include "controller/reconcile/context.h"

struct spec_write;

/* metadata: of the Spec as last read or written; copied. cancel: borrowed until the end. */
struct spec_write *spec_write_finalizer(const struct reconcile_context *context,
                                        const struct value *metadata, struct cancel *cancel);
/* A status is not cancelled: what was done is to be told. */
struct spec_write *spec_write_status(const struct reconcile_context *context,
                                     const struct value *metadata, const struct value *status);

/* Waits for it, and frees it. *ret_metadata: after it, a reference. */
int spec_write_end(struct spec_write *write, const struct value **ret_metadata,
                   struct error *error);

#endif

/*
 * Observations: objects as they were read.
 */
#pragma once

#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/session/session.h"

/* ---- observation.c ---- */

/* observation.detail of an existing object, for plan(). */
struct kube_detail {
    enum kube_owner owner;
    struct kube_marks *foreign; /* of OWNER_SPEC and OWNER_OTHER; else NULL */
    char *version;              /* resourceVersion */
    const char *keeps;          /* treatment_keeps() of it, static; NULL: it may be deleted */
    bool has_values;            /* kube_has_values(): only where values are looked at */
    /* Of an object that was read whole: references, or NULL. */
    const struct value *taken;    /* managers_take() of its managedFields */
    const struct value *fields;   /* those of our manager, after that takeover */
    const struct value *managers; /* its managedFields */
};

/* The detail of an existing object; NULL: it is absent. */
const struct kube_detail *kube_detail_of(const struct observation *observation);

/* Makes an observation from an object or its metadata. whole: keeps the object as result, secrets
 * marked. */
void kube_observe_object(const struct runtime_session *session, const struct value *object,
                         bool whole, struct observation *ret);

/* Decides anew which managers are taken over, of an object that was read whole. By default: what
 * people have. */
void kube_observe_managers(const struct runtime_session *session,
                           const struct managers_taking *taking, struct observation *seen);
/* Makes one of an object that was not read, because nobody touched it: it is ours, as the record
 * has it. */
void kube_observe_untouched(const struct record *record, struct observation *ret);

/* ---- observe.c ---- */

/* Reads the object that these attributes name: present or absent; an error says why it cannot be
 * read. */
int kube_look(struct runtime_session *session, const struct value *attributes, bool whole,
              const struct runtime_call *call, struct observation *ret, struct error *error);

/* Orders references by kind and namespace; 0: they are of one collection. */
int kube_compare_collections(const struct kube_ref *a, const struct kube_ref *b);

int kube_prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                  const struct runtime_call *call, struct observation *ret, struct error *error);
int kube_read(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);

/* ---- list_own.c ---- */

int kube_list_own(struct runtime_session *session, const struct value *ids,
                  const struct runtime_call *call, const struct value **ret, struct error *error);

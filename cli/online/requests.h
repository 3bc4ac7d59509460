/*
 * Releases that this program makes: requests for a Preview, a Rollback or a Destroy.
 */
#pragma once

#include "cli/online/objects.h"

struct release_request {
    const char *operation;         /* "Preview" */
    int64_t to_revision;           /* 0: none */
    const struct value *resources; /* of a Preview, instead of those of the Spec; NULL: those */
    const struct value *sources;   /* of more of them (`resourcesFrom`) */
    const struct value *policies; /* with resources: of the Spec that has them; NULL: those that are
                                     in force */
    const char *service_account;  /* with resources; NULL: that of the Spec */
};

/* Creates it, with a name of its own. *ret: the Release, a reference. */
int request_create(struct session *session, const struct target *target,
                   const struct release_request *request, const struct value **ret,
                   struct error *error);
int request_delete(struct session *session, const struct value *release, struct error *error);

/*
 * Makes a Preview, waits until it has ended, and deletes it. *ret: as it ended. Of a process that
 * is killed, the Release goes after five minutes by itself. ERR_TIMEOUT, with a hint;
 * ERR_CANCELLED: ctrl-C. A preview that failed is no error here.
 */
int preview_make(struct session *session, const struct target *target,
                 const struct release_request *request, const struct value **ret,
                 struct error *error);

/* What a Destroy of the Spec would delete: everything, whatever its `prune` and `maxDeletions` say.
 */
int preview_make_destroy(struct session *session, const struct target *target,
                         const struct value *spec, const struct value **ret, struct error *error);
/* The same of a Spec that is not applied yet, without putting values of Secrets into the Release.
 */
int preview_make_wanted(struct session *session, const struct target *target,
                        const struct value *spec, const struct value **ret, struct error *error);

/* Shows a Preview as it ended: its plan, or why there is none. An enum exit_code. */
int preview_show(struct cli *cli, const struct value *release, const char *title);
/* Why there is none, if so, with what the operator advises. */
void preview_show_failure(struct cli *cli, const struct value *release);

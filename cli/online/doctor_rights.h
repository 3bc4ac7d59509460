/*
 * Whether the operator still has the rights that its chart gives it. Only who may ask for the
 * rights of others learns that.
 */
#ifndef CLI_ONLINE_DOCTOR_RIGHTS_H
#define CLI_ONLINE_DOCTOR_RIGHTS_H

#include "cli/online/objects.h"

/* An operator's account. */
struct operator_account {
    char *namespace_name, *name;
    char *watched; /* the only namespace whose Specs it sees; NULL: all */
};
void operator_account_done(struct operator_account *account);

/* That of a Deployment of the chart. */
void operator_account_of(const struct value *deployment, struct operator_account *ret);

/* Which rights it lacks: "list specs, impersonate serviceaccounts"; empty: none. ERR_FORBIDDEN: the
 * user may not ask. */
int operator_lacks(struct session *session, const struct operator_account *account, struct buf *ret,
                   struct error *error);

#endif

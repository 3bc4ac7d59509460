/*
 * Credentials from a program that a kubeconfig names (users[].user.exec), as kubectl gets them:
 * kubernetes.io/docs/reference/access-authn-authz/authentication, "client-go credential plugins".
 *
 * The program has this process's environment and standard error, and its standard input if a person
 * may be asked (interactiveMode). It prints an ExecCredential. It has five minutes.
 */
#pragma once

#include <stdint.h>

#include "cli/session/kubeconfig.h"

struct credential {
    const struct value *user; /* {token, client-certificate-data, client-key-data}: a reference */
    int64_t expires;          /* ms since 1970; 0: not told */
};
void credential_done(struct credential *credential);

/* The value of $KUBERNETES_EXEC_INFO; free(). For tests. */
char *exec_plugin_info(const struct value *exec, const struct kubeconfig_choice *choice,
                       bool is_interactive);
/* Reads what the program printed. ERR_INVALID ExecPlugin. For tests. */
int exec_plugin_read(const struct value *exec, const char *text, size_t length,
                     struct credential *ret, struct error *error);

/* Runs it. ERR_UNAUTHENTICATED ExecPlugin, with the kubeconfig's own hint how to install it. */
int exec_plugin_run(const struct kubeconfig_choice *choice, struct credential *ret,
                    struct error *error);

/*
 * A connection to the API server with the rights of the user: from kubeconfigs, as kubectl reads
 * them ($KUBECONFIG with several files, --kubeconfig, --context, exec plugins, --as), else from the
 * Pod that this runs in.
 *
 * One thread at a time. Credentials of a plugin are kept for the life of the process; when they are
 * refused, the plugin is asked once more.
 */
#pragma once

#include "cli/frame/command.h"
#include "cli/session/exec_plugin.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/discovery.h"
#include "runtimes/kubernetes/client/watch.h"

struct session {
    struct cli *cli;
    const struct value *kubeconfig;  /* merged; NULL: the Pod's */
    struct kubeconfig_choice choice; /* of it */
    struct credential credential;    /* of the plugin */
    struct kube_config *config;
    struct http_loop *requests, *watches;
    struct kube_client *client;
    struct kube_discovery *discovery;
    char *namespace_name; /* --namespace, else that of the context */
};

int session_open(struct cli *cli, struct session *ret, struct error *error);
void session_done(struct session *session);

/* kube_do(), with --request-timeout, and again with new credentials if those of a plugin are
 * refused. The client of the session may be another one afterwards. */
int session_do(struct session *session, const struct kube_request *request,
               const struct value **ret, struct error *error);

/* A watch was refused (ERR_UNAUTHENTICATED): new credentials and a new client, if there is a
 * plugin. The watch is to be made anew. */
int session_renew(struct session *session, struct error *error);

/*
 * The PEM texts of TLS, if they are in files: the CA that verifies the API server, and the client's
 * own certificate and key. Whoever rotates them replaces the files.
 *
 * The files are read again every ten seconds, while requests are sent, and at once after a failure
 * that another text may end. A text that cannot be used (it is half written, or the certificate and
 * the key do not belong together) is ignored until the next reading. Thread-safe.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/config.h"

struct kube_tls_files;

struct kube_tls_files *kube_tls_files_new(const struct kube_config *config,
                                          const struct clock_source *clock);
void kube_tls_files_free(struct kube_tls_files *files);

/* The number of times that the texts have changed. */
unsigned kube_tls_files_version(struct kube_tls_files *files);
/* Reads the files if ten seconds have passed; now: in any case. Changed texts are given to `take`,
 * with the lock held: so the texts that were read last are also taken last. */
void kube_tls_files_look(struct kube_tls_files *files, bool now,
                         void (*take)(void *arg, const struct http_tls *tls), void *arg);

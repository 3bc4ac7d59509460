/*
 * Requests to network mirrors and registries: over HTTPS alone, to no host but those that the
 * operator's flags name, redirects among them, and with bounds on bytes and time.
 *
 * Thread-safe. Functions block.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash.h"
#include "engine/threads/cancel.h"
#include "engine/value/value.h"
#include "runtimes/io/http_url.h"

#define REMOTE_FAILED "ProviderDownloadFailed"

struct remote;

/* Borrowed; lives longer. */
struct remote_config {
    const char *const *hosts; /* "example.com", or "example.com:8443" */
    size_t n_hosts;
    const char *mirror; /* address of a network mirror, whose host is allowed, too; or NULL */
    const char *ca_pem; /* NULL: the system's */
    int64_t answer_time, archive_time; /* ms for an answer, and for an archive; 0: 30 s, 10 min */
};

struct remote *remote_new(const struct remote_config *config);
/* When no request is under way. Accepts NULL. */
void remote_free(struct remote *remote);

/* Whether the text names a host: "example.com", or "example.com:8443". */
bool remote_is_host(const char *text);
/* Whether it is one of the configuration's hosts. */
bool remote_names(const struct remote *remote, const char *host);

struct remote_answer {
    const struct value *json; /* a reference */
    char *url; /* that answered, after redirects: relative addresses in the answer count from it */
};
void remote_answer_done(struct remote_answer *answer);

/* http_url_read() of an address in an answer, or of a flag. ERR_INVALID REMOTE_FAILED. */
int remote_read_url(const char *base, const char *address, struct http_url *ret,
                    struct error *error);

/*
 * All errors but ERR_NOT_FOUND (404, 410) and ERR_CANCELLED have the reason REMOTE_FAILED, or
 * ProviderHostNotAllowed, and the address without its query in the message:
 *   ERR_UNAVAILABLE  it may work later: no connection, a status of 5xx or 429, a timeout
 *   ERR_INVALID      it does not: another status, an answer that is none or too large, a
 *                    certificate
 *   ERR_FORBIDDEN    the host is not allowed
 */
int remote_get_json(struct remote *remote, const char *url, struct cancel *cancel,
                    struct remote_answer *ret, struct error *error);
/* *ret: free(). Of at most 1 MiB. */
int remote_get_text(struct remote *remote, const char *url, struct cancel *cancel, char **ret,
                    struct error *error);
/* Writes what comes to a file, and gives its SHA-256. */
int remote_get_file(struct remote *remote, const char *url, int fd, uint64_t most_bytes,
                    struct cancel *cancel, char ret_sha256[HASH_HEX_SIZE], struct error *error);

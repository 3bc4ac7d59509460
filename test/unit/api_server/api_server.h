/*
 * An API server in memory, over HTTP on loopback: what the operator does is tried against it with
 * the real client, its time-outs, retries and watches. Tests assert what is there at the end and
 * how often it was written, not the requests in between.
 *
 * It does as a real one does where the operator relies on it: resource versions, generations, uids,
 * finalizers, the subresource status, server-side apply with owners of fields, preconditions,
 * selectors, pages, watches, discovery, definitions of kinds, Namespaces that end. It checks no
 * schema, fills in next to nothing, and runs no controllers: what these would do, the test does
 * (a status, an object that goes). test_api_server*.c of the client's tests say what it can; the
 * same tests that run against a real one (live) run against it as well (serve.c).
 *
 * Not here: keys with NUL or U+001F in what is applied, Tables, protobuf, TLS, HTTP/2, quotas, sets
 * in selectors.
 *
 * Connections are closed after each answer: on one that is kept and breaks, curl sends a request
 * once more by itself, and what rules count would be a matter of luck.
 *
 * Thread-safe. What the test itself asks and changes here, no rule applies to, and it is not
 * counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/value/value.h"

struct api_server;

/* It has the Namespaces "default" and "kube-system". Aborts where there is no port. */
struct api_server *api_server_new(void);
void api_server_free(struct api_server *server);
DEFINE_CLEANUP(struct api_server *, api_server_free)

const char *api_server_url(const struct api_server *server); /* http://127.0.0.1:port */

/* ---- What is there ---- */

/*
 * One request of the test. method: "GET", "POST", "PUT", "DELETE", "MERGE" (a merge patch) or
 * "APPLY" (server-side apply, forced). body: JSON or NULL. Gives the HTTP status; ret (may be NULL)
 * the answer, a reference.
 */
int api_server_do(struct api_server *server, const char *method, const char *path, const char *body,
                  const struct value **ret);

/* The object, a reference; NULL: it is not there. */
const struct value *api_server_get(struct api_server *server, const char *path);
/* How many objects a collection has; path: with selectors, if any. */
size_t api_server_size(struct api_server *server, const char *path);
/* Makes an object; its kind tells where. These abort when refused, with the answer. */
void api_server_create(struct api_server *server, const char *json);
/* The object as another server has it: its uid, generation, status and owners of fields stay. */
void api_server_put(struct api_server *server, const char *json);
void api_server_edit(struct api_server *server, const char *path, const char *merge_patch);
void api_server_delete(struct api_server *server, const char *path);
/* The object is gone, whatever its finalizers: as where a real server looks at them for a deletion
 * before they are set, and removes the object after that. */
void api_server_remove(struct api_server *server, const char *path);

/* Watches from versions before now are told that these are gone (410). */
void api_server_compact(struct api_server *server);
/* All watches end. */
void api_server_end_watches(struct api_server *server);
/* Keeps a copy of all there is; and sets it back to that copy, as when a copy of etcd's folder is
 * put in its place: objects, uids and versions are those of then, and all watches end. */
void api_server_save(struct api_server *server);
void api_server_set_back(struct api_server *server);

/* ---- Faults and rights ---- */

enum api_fault {
    API_ANSWER,       /* nothing is done; status, reason and message are answered */
    API_ANSWER_AFTER, /* it is done, and answered so all the same */
    API_FORBID,       /* 403, in the words of a real server */
    API_DROP,         /* nothing is done; the connection is closed */
    API_DROP_AFTER,   /* it is done; the connection is closed without an answer */
    API_BREAK_OFF,    /* it is done; the connection is closed in the middle of the answer's body */
    API_HOLD,         /* waits for api_server_release(), and is done then */
    API_HOLD_AFTER,   /* it is done, and answered after api_server_release() */
    API_BODY,         /* nothing is done; 200 and `body` are answered, JSON or not */
};

/* Which requests, and what becomes of them. Strings are borrowed for the life of the server. */
struct api_rule {
    const char
        *verb; /* get, list, watch, create, update, patch (merge), apply, delete; "write": any
                  that changes; NULL: any. An apply of what is not there is a create, too */
    const char *path;   /* a glob over the path without its query; NULL: any */
    const char *user;   /* that is impersonated; "": nobody is; NULL: any */
    const char *accept; /* a glob over what the client asks for; NULL: any */
    unsigned first;     /* of the requests that match, from 1 (and 0) */
    unsigned times;     /* 0: all from then on */
    bool dry_runs;      /* these alone; else they do not count as writes */
    enum api_fault fault;
    int status;
    const char *reason, *message; /* NULL: one that goes with the status */
    const char *headers;          /* more of them, each ending in \r\n; or NULL */
    const char *body;
};

/* The first rule that applies to a request is taken. A number for the following. */
unsigned api_server_rule(struct api_server *server, const struct api_rule *rule);
/* How often it was applied. */
unsigned api_server_hits(struct api_server *server, unsigned rule);
/* Waits until it was; false: not within 10 s. */
bool api_server_wait_hits(struct api_server *server, unsigned rule, unsigned n);
/* It applies no more, and what it holds goes on. */
void api_server_release(struct api_server *server, unsigned rule);
/* Short for a rule. user: NULL: any. */
unsigned api_server_forbid(struct api_server *server, const char *user, const char *verb,
                           const char *path);

/*
 * The process that talks to the server ends here: after so many more writes (0: at once) the server
 * does nothing for anyone and hangs up; the last one is done, and its answer lost. Events and
 * Leases do not count. The test goes on until api_server_mend().
 */
void api_server_cut_after(struct api_server *server, unsigned writes);
bool api_server_is_cut(struct api_server *server);
void api_server_mend(struct api_server *server);

/* ---- What was asked ---- */

/* Writes are requests that may change something, are no dry-run, and were answered with 2xx (or
 * would have been: their answer may be lost); none of Events and Leases. */

/* Called after each with its number since the last mark, on the connection's thread, before the
 * answer is sent; without the server's lock. NULL: nobody. */
void api_server_on_write(struct api_server *server, void (*fn)(void *arg, unsigned n), void *arg);

/* Counts begin anew. */
void api_server_mark(struct api_server *server);
unsigned api_server_writes(struct api_server *server);
/* "apply configmaps, create releases, update releases/status 2": all writes, sorted; free(). */
char *api_server_write_summary(struct api_server *server);
/* Requests, whatever came of them. verb and path as in a rule. */
unsigned api_server_count(struct api_server *server, const char *verb, const char *path);
/* All requests, a line each: verb, path, user, status; free(). */
char *api_server_log(struct api_server *server);

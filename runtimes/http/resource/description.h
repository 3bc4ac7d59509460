/*
 * How a resource of type HTTP is described: its extensions, taken apart.
 *
 *   connection:
 *     url: https://dns.example.com/api/v1      where its paths begin
 *     caFrom: {configMap: ca, key: ca.crt}     or secret; default: the system's CAs
 *     bearerFrom: {secret: dns, key: token}    or {ref: "ref://dns/token"}
 *     basicFrom: {secret: dns}                 usernameKey, passwordKey: default username,
 * password; or usernameRef, passwordRef headersFrom: [{name: X-API-Key, secret: dns, key: token}]
 * or ref id: /id                  pointer to the id in the answer of `create`, and in what is read
 *   read:
 *     path: /zones/{zone}
 *     select: /rrsets        pointer to the thing, or to the list of things, in the answer
 *     where: {/name: /name}  of a list: pointer in an item -> pointer in the attributes
 *     absent: [404, 410]     statuses by which there is no thing
 *   create:
 *     method: POST
 *     path: /things
 *     headers: {Content-Type: application/json}
 *     body: …                default: the attributes (fill.h)
 *     timeout: 30s
 *     exists: [409]          statuses by which there is such a thing already
 *   update: as create        without it a change replaces the thing
 *   delete: as create, without a body, and with `absent`
 *   wait: {path: …, pointer: /status, ready: [active], failed: [error]}
 *   parameters: {zone: …}    values for paths and bodies that are no attributes
 *   computed: [/address]     pointers to values that the server sets: a plan shows that they come
 *   immutable, unordered, writeOnly, sensitive: pointers to attributes
 *   lifecycle: {createBeforeDestroy, preventDestroy}
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

#define DESCRIPTION_TIMEOUT 30000 /* ms, of a request */

struct http_description {
    const struct value *extensions; /* everything below is borrowed from it */
    const char *url;
    const struct value *connection;
    const char *id; /* pointer; NULL: things have no id */
    const struct value *read, *create, *update, *delete, *wait; /* update, wait: or NULL */
    const struct value *parameters;                             /* or NULL */
};

/* Called for each problem: the field within the extensions ("read.path"), and what is wrong. */
typedef void description_on_problem(void *arg, const char *field, const char *problem);

/* Checks the extensions as they are written, with references. */
void description_check(const struct value *extensions, description_on_problem *on_problem,
                       void *arg);

/* Takes extensions apart that passed the check when they were written, and whose references are
 * resolved. ERR_INVALID: the first problem. */
int description_read(const struct value *extensions, struct http_description *ret,
                     struct error *error);

/* Whether a request's list has the status; the list that it has if none is written. */
bool description_has_status(const struct value *request, const char *list, int status);
/* ms. */
int64_t description_timeout(const struct value *request);
/* "GET" where none is written. */
const char *description_method(const struct value *request);
/* Whether things are found by their id alone, which only the answer to their creation tells. */
bool description_needs_id(const struct http_description *description);
bool description_creates_first(const struct http_description *description);
bool description_prevents_destroy(const struct value *extensions);

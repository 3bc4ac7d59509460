/*
 * The HTTP runtime: implements engine/runtime.h for things behind REST APIs. A resource says itself
 * by which requests its thing is read, created, updated and deleted (resource/description.h).
 *
 *   resource/     what needs no server, and the CLI has as well:
 *     description   the extensions of a resource, checked and taken apart
 *     check         the same for a Spec
 *     fill          paths and bodies, filled with values
 *     select        the thing in an answer
 *     compare       what of a thing is compared with its attributes
 *   hosts         to which hosts there may be connections
 *   server        a connection: its address, its credentials
 *   exchange      a request and its answer
 *   thing         reading a thing
 *   plan, apply   the life of a resource (session.h)
 *
 * A server cannot list what is ours: State is the authority. A thing is known by its place (the
 * path that reads it, and what `where` looks for) or by an id that the server gave it. What was
 * begun, and not answered, is looked for by the place; where there is none but the id, it is held.
 */
#pragma once

#include "runtimes/http/config.h"

#define HTTP_RUNTIME_TYPE "HTTP"

/* ERR_INTERNAL: no thread for the requests. */
int http_runtime_new(const struct http_runtime_config *config, struct runtime **ret,
                     struct error *error);

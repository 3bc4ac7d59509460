/*
 * A second runtime, of the type "Cloud", for tests of the operator. Only test builds have it
 * (KUSION_TEST_RUNTIME). It has the traits of cloud APIs that Kubernetes does not have:
 *
 *   - A create assigns an id to the thing, and the thing is found only by that id, which State
 *     keeps in the runtime's memory. Two creates make two things. Altered memory is an error.
 *   - `id`, `address`, `secret` and `revision` are known only after apply. An update changes
 *     `revision`, a replacement all of them. `secret` and the attribute `password` are sensitive.
 *   - A changed `fixed` replaces a thing: the old one is deleted first. A changed `swapped` creates
 *     the new one first. All other attributes are updated in place.
 *   - A create blocks for its `delay` ("120s"); the file `hurry` ends that early. A call that has
 *     begun is not cancelled. If the process is killed meanwhile, the thing is left behind.
 *   - A thing whose creation did not complete is tainted.
 *   - A resource with unknown values in `extensions` is deferred.
 *
 * Things live in a directory, which tests read and write:
 *
 *   things/<id>.json   one thing each: id, name, attributes, revision, status
 *   log                a line for each call: "begin db", "create db", "update db", "delete db"; the
 *                      name is the text after the last colon of the resource's id
 *   faults/<name>      the fault of the resource of that name: "refused" (nothing is sent),
 *                      "partial" (a create fails with an object), "half" (an update changes only
 *                      `x` and fails), "lost" (the call is made, and its answer is lost),
 *                      "crash" (the process ends when it is planned)
 *   hurry              creates do not wait for their delay
 */
#pragma once

#include "engine/runtime.h"

#define CLOUD_DIRECTORY "KUSION_TEST_CLOUD" /* the environment variable that names the directory \
                                             */

struct connection; /* controller/connection.h: the connection to the API server, which is not used
                      */

/* If the environment variable is not set, sessions cannot be opened. */
struct runtime *cloud_runtime_new(const struct connection *connection);

/*
 * A second runtime, of the type "Cloud": for tests of the operator, in test builds alone
 * (KUSION_TEST_RUNTIME). It has all that Kubernetes has not, as clouds have it:
 *
 *   - A thing is found by an id that its creation gives, and that only State keeps, in the
 *     runtime's memory. Two creates make two things. Memory that comes back altered is an error.
 *   - `id`, `address`, `secret` and `revision` are known after apply alone. An update changes
 *     `revision`, a replacement all of them. `secret` is one, and so is the attribute `password`.
 *   - Another `fixed` makes a thing replaced, deleted first; another `swapped`, created first. All
 *     other attributes are updated in place.
 *   - A create blocks for its `delay` ("120s"), the file `hurry` ends that early. A call that was
 *     begun is not cancelled. A process that is killed meanwhile leaves a thing behind.
 *   - A thing that was not made to its end is tainted.
 *   - With something unknown in `extensions`, nothing can be planned: it is deferred.
 *
 * Things live in a directory, which tests read and write:
 *
 *   things/<id>.json   one each: id, name, attributes, revision, status
 *   log                a line for each that was done: "begin db", "create db", "update db", "delete
 *                      db"; db is what follows the last colon of the resource's id
 *   faults/<name>      what goes wrong with a resource of that name: "refused" (nothing is sent),
 *                      "partial" (a create fails with an object), "half" (an update changes only
 *                      `x` and fails), "lost" (it happens, and its answer is lost)
 *   hurry              creates do not take their time
 */
#ifndef TEST_RUNTIME_CLOUD_H
#define TEST_RUNTIME_CLOUD_H

#include "engine/runtime.h"

#define CLOUD_DIRECTORY "KUSION_TEST_CLOUD" /* the environment variable that names the directory \
                                             */

struct connection; /* controller/connection.h: to the API server, which is not asked for anything */

/* Where the environment names no directory, no session can be opened. */
struct runtime *cloud_runtime_new(const struct connection *connection);

#endif

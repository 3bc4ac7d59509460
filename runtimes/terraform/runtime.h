/*
 * The Terraform runtime: implements engine/runtime.h with Terraform's providers, which are driven
 * directly, without the terraform program.
 *
 *   values/    Terraform's types and values, msgpack
 *   schema/    the schema of a resource, and what is done by it
 *   proto/     the messages of the providers' protocol
 *   plugin/    a provider's process, and calls to it
 *   package/   their packages: hashes, archives, the operator's copies
 *   tfstate/   Terraform's state files, which are read and written
 *   .          which provider (source, version), where it is (finder.h), their processes (pool),
 *              the calls for one resource, and its life: plan, apply, read (session.h)
 *
 * A provider cannot list what is ours: State is the authority, and an object is found by what State
 * has of it (memory.h).
 */
#pragma once

#include "engine/runtime.h"
#include "runtimes/terraform/finder.h"
#include "runtimes/terraform/source.h"

/* Borrowed; lives longer than the runtime. */
struct tf_runtime_config {
    struct finder_config finder;  /* where providers are; cache NULL: in the folder */
    const struct source *allowed; /* providers that Specs may use */
    size_t n_allowed;
    const char *folder; /* for temporary folders of processes: absolute, at most FOLDER_LONGEST
                           bytes (plugin/folder.h) */
    int64_t memory;        /* bytes that all processes may have, about; 0: no limit */
    bool allow_unconfined; /* providers run also where the kernel cannot guard files */
};

struct runtime *tf_runtime_new(const struct tf_runtime_config *config);

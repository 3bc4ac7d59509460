/*
 * The Terraform runtime: implements engine/runtime.h with Terraform's providers, which are driven
 * directly, without the terraform program.
 *
 *   values/    Terraform's types and values, msgpack
 *   schema/    the schema of a resource, and what is done by it
 *   proto/     the messages of the providers' protocol
 *   plugin/    a provider's process, and calls to it
 *   tfstate/   Terraform's state files, which are read and written
 *   .          which provider (source, version, mirror), their processes (pool), the calls for one
 *              resource, and its life: plan, apply, read (session.h)
 *
 * A provider cannot list what is ours: State is the authority, and an object is found by what State
 * has of it (memory.h).
 */
#ifndef RUNTIMES_TERRAFORM_RUNTIME_H
#define RUNTIMES_TERRAFORM_RUNTIME_H

#include "engine/runtime.h"
#include "runtimes/terraform/source.h"

#define TF_RUNTIME_TYPE "Terraform"

/* Borrowed; lives longer than the runtime. */
struct tf_runtime_config {
    const char *mirror;           /* mirror.h; an absolute path; NULL: none */
    const struct source *allowed; /* providers that Specs may use */
    size_t n_allowed;
    const char *folder; /* for temporary folders of processes: absolute, at most FOLDER_LONGEST
                           bytes (plugin/folder.h) */
    bool allow_unconfined; /* providers run also where the kernel cannot guard files */
};

struct runtime *tf_runtime_new(const struct tf_runtime_config *config);

#endif

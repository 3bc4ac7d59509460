/*
 * Documents in ConfigMaps (and, of what is secret, in Secrets) of one
 * namespace: engine/store.h.
 *
 * Each document has a head, a ConfigMap. Compare-and-swap works on its
 * resourceVersion, and what it says is covered by a checksum. The head holds
 * the open part itself where that fits; otherwise it names chunks, objects of
 * their own. The secret part is in chunks always. A chunk's name has a tag
 * that was drawn for the write that made it: so a write never touches what the
 * head in force names, no name is ever used twice, and a late removal hits
 * nothing that is in use. Small documents without a secret are written in one
 * request.
 *
 * Entries are in a chain of Secrets of about 64 KiB, the segments. The head
 * names the first, each segment the next. A segment is named only after it was
 * written: what no chain reaches was never acknowledged. To append is to swap
 * the last segment (the first entry, which makes the chain: the head). A write
 * closes the last segment, so that no one can append any more, and then swaps
 * the head. If it is killed between the two, whoever appends next touches the
 * head before the closed segment: so a write that was only asleep conflicts.
 *
 * Garbage are the objects of a document which its head does not reach. They are
 * looked for (listed) before a process swaps the head of a document with chunks for
 * the first time, and before a document is removed.
 */
#ifndef RUNTIMES_KUBERNETES_DOCUMENTS_H
#define RUNTIMES_KUBERNETES_DOCUMENTS_H

#include "engine/store.h"
#include "runtimes/kubernetes/client/cluster.h"

/* Of all objects of a document: the name of its head. */
#define KUBE_DOCUMENT_LABEL "api.kusion.io/state"
/* Of heads: document_kind_name(). */
#define KUBE_KIND_LABEL "api.kusion.io/document"
/* Of heads: the name of the head of the Spec's State. */
#define KUBE_SPEC_LABEL "api.kusion.io/spec"

struct kube_documents_config {
    struct kube_cluster cluster;
    const char *namespace_name; /* copied */
};

/* Calls without a permit of their own ask the client's guard; their own deadline is 60 s. */
struct store *kube_documents_new(const struct kube_documents_config *config);

/* The name of a document's head. State's is "kusion-" and 40 hexadecimal digits of
 * sha256(namespace "/" name); others have their kind in it: "kusion-plan-…". */
#define KUBE_DOCUMENT_NAME_SIZE 64
void kube_document_name(const struct document_name *name, char ret[KUBE_DOCUMENT_NAME_SIZE]);

#endif

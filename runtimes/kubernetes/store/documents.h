/*
 * A store (engine/store.h) of documents in ConfigMaps and Secrets of one namespace.
 *
 * Each document has a head, a ConfigMap. A write is a compare-and-swap of the head's
 * resourceVersion. A checksum covers the head's content. A small open part is in the head itself; a
 * larger one is in chunks, separate ConfigMaps that the head names. The secret part is always in
 * chunks, which are Secrets. The names of chunks contain a random tag of the write that created
 * them: a write never touches the chunks of the current head, no name is used twice, and a late
 * deletion cannot hit a chunk in use. A small document without a secret is written in one request.
 *
 * The head and the names and annotations of chunks hold no digest of secret content without a key:
 * from one, a short secret can be guessed. The checksums of the secret part are HMACs, with a
 * random key that is in each of its chunks.
 *
 * Entries are in a chain of Secrets of about 16 KiB, the segments. The head names the first
 * segment, and each segment names the next. A segment is created before it is named, so a segment
 * that no chain names holds no acknowledged entry. An append swaps the last segment; the first
 * entry starts the chain and swaps the head. A write first closes the last segment, so that no
 * other process can append, and then swaps the head. If the write is killed in between, the next
 * append changes the head before it uses the closed segment. So the write, if it was only delayed,
 * conflicts.
 *
 * A create whose answer was lost may be carried out after the document was removed, and would bring
 * it back, or a chunk of it. It fails as long as the object exists. So a document with such a
 * create is removed only when that cannot come any more; until then remove() is ERR_UNAVAILABLE
 * STORE_OUTCOME_UNKNOWN.
 *
 * The first write of a document with chunks creates the head before them, as one that says that the
 * document is removed, and swaps it when they are there. So every chunk in the making has a head
 * that whoever removes it has to change first. A removal that saw no head either finds no chunk of
 * such a write, or finds that there is a head by now, and conflicts.
 *
 * Garbage is an object of a document that the head does not reach. The store lists and deletes
 * garbage before a process first swaps the head of a document with chunks, and when it removes a
 * document. To remove one with chunks, the head is first swapped for one that says that the
 * document is removed, and is deleted when the chunks are gone. Until then the document cannot be
 * read, but list() names it, so that a removal that failed or was killed is repeated.
 *
 * A chunk may be left without a head: by a write that went on while another process removed the
 * document. Nobody may ever write that document again, so tidy() looks for such chunks.
 */
#pragma once

#include "engine/store.h"
#include "runtimes/kubernetes/client/cluster.h"

/* Label of all objects of a document: the name of its head. */
#define KUBE_DOCUMENT_LABEL "api.kusion.io/state"
/* Label of heads: document_kind_name(). */
#define KUBE_KIND_LABEL "api.kusion.io/document"
/* Label of heads: the name of the head of the Spec's State. */
#define KUBE_SPEC_LABEL "api.kusion.io/spec"

struct kube_documents_config {
    struct kube_cluster cluster;
    const char *namespace_name; /* copied */
    int64_t orphan_age; /* ms; 0: an hour. tidy() removes a chunk if its document was missing for
                           this time, which must be longer than any write takes */
    int64_t effect_time; /* ms after it was sent that a create may still take effect; 0: EFFECT_TIME
                          */
};

/* A call without a permit asks the client's guard. The default deadline is 60 s. */
struct store *kube_documents_new(const struct kube_documents_config *config);

/* The name of a document's head. For State it is "kusion-" and 40 hexadecimal digits of
 * sha256(namespace "/" name); for other kinds it contains the kind: "kusion-plan-…". */
#define KUBE_DOCUMENT_NAME_SIZE 64
void kube_document_name(const struct document_name *name, char ret[KUBE_DOCUMENT_NAME_SIZE]);
